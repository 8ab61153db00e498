// The live page's own script: asks every second for what there is, and for what there was at the
// end, and draws it.
(() => {
  "use strict";
  document.documentElement.classList.add("scripted");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const at = (id) => document.getElementById(id);
  let charts = []; // title, element, chart, data
  let seen = "";
  let isOver = false;

  const optionOf = (data) => {
    const of = JSON.parse(data);
    if (systemDark.matches) iodyno.darken(of);
    return of.option;
  };

  const drawn = (one) => {
    const option = optionOf(one.data);
    one.element.style.height = `${iodyno.height(option, one.element.clientWidth)}px`;
    one.chart?.dispose();
    one.chart = iodyno.draw(one.element, option);
  };

  // Figures keep their place as long as there are as many.
  const draw = (figures) => {
    while (charts.length > figures.length) {
      const { chart, figure } = charts.pop();
      chart.dispose();
      figure.remove();
    }
    figures.forEach(({ title, data }, n) => {
      if (!charts[n]) {
        const figure = at("figures").appendChild(document.createElement("figure"));
        const element = figure.appendChild(document.createElement("div"));
        element.className = "chart";
        element.setAttribute("role", "img");
        charts[n] = { figure, element };
      }
      const one = charts[n];
      if (one.data === data) return;
      one.data = data;
      one.element.setAttribute("aria-label", title);
      drawn(one);
    });
  };
  systemDark.addEventListener("change", () => charts.forEach(drawn));

  const row = (cells, kind) => {
    const line = document.createElement("tr");
    cells.forEach((text, n) => {
      const cell = line.appendChild(document.createElement(n ? kind : "th"));
      if (cell.localName !== kind) cell.scope = "row";
      cell.textContent = text;
      if (n > 1) cell.className = "right";
    });
    return line;
  };

  const show = (data) => {
    at("title").textContent = data.title || "iodyno";
    at("state").textContent = data.state;
    at("now").textContent = data.now || "";
    at("columns").replaceChildren(...(data.done?.length ? [row(data.columns, "th")] : []));
    at("done").replaceChildren(...(data.done || []).map((cells) => row(cells, "td")));
    draw(data.figures);
  };

  const take = async (path) => {
    const answer = await fetch(path, { cache: "no-store" });
    const text = await answer.text();
    if (text !== seen) show(JSON.parse(text));
    seen = text;
  };
  const ask = async () => {
    try {
      await take("figures");
    } catch {
      if (!isOver) at("state").textContent = "no answer: iodyno has ended";
      seen = "";
      return;
    }
    setTimeout(() => isOver || ask(), document.hidden ? 5000 : 1000);
  };
  ask();
  // Answered when iodyno ends.
  take("end").then(() => (isOver = true), () => {});
})();
