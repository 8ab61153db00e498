// The page's own script: draws figures when they come into view, in the page's
// colours, and hands out the data.
(() => {
  "use strict";
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const charts = new Map(); // element of a figure: its chart
  let printing = false;

  const isDark = () => {
    if (printing) return false;
    return root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;
  };

  // Puts `value` where a JSON pointer (RFC 6901) says.
  const put = (target, pointer, value) => {
    const keys = pointer.split("/").slice(1);
    const last = keys.pop();
    const plain = (key) => key.replaceAll("~1", "/").replaceAll("~0", "~");
    for (const key of keys) target = target[plain(key)];
    target[plain(last)] = value;
  };

  const draw = (element) => {
    charts.get(element)?.dispose();
    const { option, dark } = JSON.parse(element.nextElementSibling.textContent);
    if (isDark()) for (const pointer in dark) put(option, pointer, dark[pointer]);
    const height = iodyno.height(option, element.clientWidth);
    element.style.height = `${printing ? 0.88 * height : height}px`;
    charts.set(element, iodyno.draw(element, option));
    if (charts.size === 1) performance.mark("first figure");
  };

  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      if (!charts.has(target)) draw(target);
    }
  }, { rootMargin: "300px" });
  const all = document.querySelectorAll(".chart");
  all.forEach((element) => seen.observe(element));

  const redraw = () => [...charts.keys()].forEach(draw);
  systemDark.addEventListener("change", redraw);

  // On paper everything is shown: figures that were not seen yet, and what is folded.
  const folded = document.querySelectorAll("details:not([open])");
  addEventListener("beforeprint", () => {
    printing = true;
    root.classList.add("printing");
    folded.forEach((one) => { one.open = true; });
    all.forEach(draw);
    charts.forEach((chart) => chart.getZr().flush());
  });
  addEventListener("afterprint", () => {
    printing = false;
    root.classList.remove("printing");
    folded.forEach((one) => { one.open = false; });
    redraw();
  });

  const button = (id, act) => {
    const element = document.getElementById(id);
    element.hidden = false;
    element.addEventListener("click", act);
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
  button("print", () => print());
  // Of many measurements there is none: the page says where they are.
  const data = document.getElementById("document");
  if (data) button("download", (event) => {
    const text = data.textContent;
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    event.currentTarget.href = url;
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  });
})();
