// The page's own script: keeps the room of figures, draws them when they come into view, in the
// page's colours, and hands out the data. It stands before the first figure.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const charts = new Map(); // element of a figure: its chart
  let printing = false;

  const isDark = () => {
    if (printing) return false;
    return root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;
  };

  const figure = (element) => JSON.parse(element.previousElementSibling.textContent);

  // A figure is as high as it will be before anything below it is shown.
  const reserve = (element, { option }) => {
    const height = iodyno.height(option, element.clientWidth);
    element.style.height = `${printing ? 0.8 * height : height}px`;
  };
  const arriving = new MutationObserver((records) => {
    for (const { addedNodes } of records) for (const node of addedNodes) {
      // What is folded has no room, and asking for its width would lay out all the page.
      if (node.className === "chart" && !node.closest("details:not([open])")) reserve(node, figure(node));
    }
  });
  arriving.observe(document, { childList: true, subtree: true });

  const draw = (element) => {
    charts.get(element)?.dispose();
    const of = figure(element);
    if (isDark()) iodyno.darken(of);
    reserve(element, of);
    charts.set(element, iodyno.draw(element, of.option));
    if (charts.size === 1) performance.mark("first figure");
  };

  // What a figure shows as a table, made when it is asked for.
  const tabulate = (details) => {
    const chart = details.parentElement.querySelector(".chart");
    for (const { title, columns, rows, left } of iodyno.tables(figure(chart).option)) {
      const element = (parent, name, text) => {
        const made = parent.appendChild(document.createElement(name));
        if (text !== undefined) made.textContent = text;
        return made;
      };
      const wide = element(details, "div");
      wide.className = "wide";
      wide.tabIndex = 0;
      const table = element(wide, "table");
      element(table, "caption", left ? `${title} (${left})` : title);
      const line = (parent, name, cells) => {
        const row = element(parent, "tr");
        cells.forEach((cell, n) => {
          const made = element(row, n || !cell ? name : "th", cell);
          if (made.localName !== name) made.scope = "row";
        });
      };
      line(element(table, "thead"), "th", columns);
      const body = element(table, "tbody");
      for (const row of rows) line(body, "td", row);
    }
  };

  // Arrows go from point to point, up and down to the next series.
  const step = (chart, at, key) => {
    const lines = chart.getOption().series.map((one, n) => [n, one.data.length, one.type])
      .filter(([, length, type]) => length && type !== "custom");
    const ways = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (!lines.length || !ways[key]) return false;
    const line = (at.line + ways[key][0] + lines.length) % lines.length;
    const [seriesIndex, length] = lines[line];
    const point = Math.min(length - 1, Math.max(0, at.point + ways[key][1]));
    Object.assign(at, { line, point });
    chart.dispatchAction({ type: "showTip", seriesIndex, dataIndex: point });
    return true;
  };

  addEventListener("DOMContentLoaded", () => {
    arriving.disconnect();
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        if (!charts.has(target)) draw(target);
      }
    }, { rootMargin: "300px" });
    const all = document.querySelectorAll(".chart");
    for (const element of all) {
      const at = { line: 0, point: -1 };
      seen.observe(element);
      element.addEventListener("keydown", (event) => {
        const chart = charts.get(element);
        if (!chart) return;
        if (event.key === "Escape") chart.dispatchAction({ type: "hideTip" });
        else if (step(chart, at, event.key)) event.preventDefault();
      });
    }
    for (const details of document.querySelectorAll("details.data")) {
      details.addEventListener("toggle", () => tabulate(details), { once: true });
    }

    // What scrolls sideways is reached by keyboard.
    const wide = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
        else target.removeAttribute("tabindex");
      }
    });
    document.querySelectorAll(".wide").forEach((element) => wide.observe(element));

    // A link into what is folded unfolds it.
    const unfold = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      for (let one = target; one; one = one.parentElement) if (one.matches("details")) one.open = true;
      target?.scrollIntoView();
    };
    addEventListener("hashchange", unfold);
    if (location.hash) unfold();

    const redraw = () => [...charts.keys()].forEach((element) => element.clientWidth && draw(element));
    systemDark.addEventListener("change", redraw);

    // On paper all figures are drawn that are unfolded, whether they were seen or not.
    addEventListener("beforeprint", () => {
      printing = true;
      root.classList.add("printing");
      all.forEach((element) => element.clientWidth && draw(element));
      charts.forEach((chart) => chart.getZr().flush());
    });
    addEventListener("afterprint", () => {
      printing = false;
      root.classList.remove("printing");
      redraw();
    });

    const button = (id, act) => {
      const element = document.getElementById(id);
      element?.addEventListener("click", act);
      return element;
    };
    const named = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
    const theme = button("theme", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      named();
      redraw();
    });
    systemDark.addEventListener("change", named);
    named();
    const sections = [...document.querySelectorAll("details:not(.data)")];
    const fold = button("unfold", () => {
      const open = sections.some((one) => !one.open);
      for (const one of sections) one.open = open;
      fold.textContent = open ? "Fold all" : "Unfold all";
    });
    button("print", () => print());
    // Of many measurements there is none: the page says where they are.
    button("download", (event) => {
      const text = document.getElementById("document").textContent;
      const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      event.currentTarget.href = url;
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    });
  });
})();
