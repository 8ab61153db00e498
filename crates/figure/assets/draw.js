// Draws iodyno's option objects with ECharts, in a page or as SVG without one.
// Binds the functions that an option names, and places titles, legend and
// panels in the available room.
(function (root) {
  "use strict";

  // Widths of the characters from space to ~ in DejaVu Sans, hundredths of the font size.
  const WIDTHS = [
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84];

  function textWidth(text, size) {
    let width = 0;
    for (const character of text) {
      const code = character.codePointAt(0);
      // Other characters may be ideographs, as wide as high.
      width += WIDTHS[code - 32] ?? (code < 0x1100 ? 66 : 100);
    }
    // One percent more: the widths are rounded.
    return (width * size * 1.01) / 100;
  }

  // ---- Values as text: from base units (per second, bytes, ns) to SI units.

  const PREFIXES = {
    iops: [[1, "IOPS"], [1e3, "kIOPS"], [1e6, "MIOPS"]],
    bandwidth: [[1, "B/s"], [1e3, "kB/s"], [1e6, "MB/s"]],
    latency: [[1, "ns"], [1e3, "\u00b5s"], [1e6, "ms"], [1e9, "s"]],
    time: [[1, "ns"], [1e3, "\u00b5s"], [1e6, "ms"], [1e9, "s"]],
    data: [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"]],
    ratio: [[1, "x"]],
    size: [[1, "B"], [1024, "KiB"], [1048576, "MiB"], [1073741824, "GiB"]],
  };

  // With thin spaces between thousands, and at most `digits` decimals.
  function number(value, digits) {
    const size = Math.abs(value);
    const decimals = size === 0 ? 0 : Math.min(9, Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
    let [whole, fraction] = value.toFixed(decimals).split(".");
    if (size >= 1e4) whole = whole.replace(/\B(?=(\d{3})+$)/g, "\u2009");
    fraction = (fraction || "").replace(/0+$/, "");
    return fraction ? whole + "." + fraction : whole;
  }

  function percentile(nines) {
    return number(100 * (1 - Math.pow(10, -nines)), 2 + Math.max(0, Math.ceil(nines)));
  }

  function text(quantity, value, digits) {
    if (!Number.isFinite(value)) return "-"; // not known
    if (quantity === "share") return number(value * 100, digits) + "\u2009%";
    if (quantity === "nines") return "p" + percentile(value);
    const units = PREFIXES[quantity];
    if (!units) return number(value, digits);
    let unit = units[0];
    for (const one of units) if (Math.abs(value) >= one[0] * 0.9995) unit = one;
    return number(value / unit[0], digits) + "\u2009" + unit[1];
  }

  // ---- Functions that options name, `name:argument:argument`.

  const FORMATTERS = {
    scaled: (divisor) => (value) => number(value / divisor, 6),
    nines: () => (value) => percentile(value),
    tooltip: (option) => (shown) => tooltip(option, shown),
  };
  for (const quantity of Object.keys(PREFIXES)) {
    FORMATTERS[quantity] = () => (value) => text(quantity, value, 4);
  }

  // Short as in fio: labels of block sizes are close together.
  FORMATTERS.size = () => (value) => text("size", value, 4).replace(/\u2009(.).*/, (_, unit) => unit.replace("B", "").toLowerCase());

  // A line of a tooltip, made of elements: a page's Content-Security-Policy may forbid
  // styles in HTML text, and names in it would be parsed as tags.
  function line(words, color) {
    const element = root.document.createElement("div");
    if (color) {
      const dot = element.appendChild(root.document.createElement("span"));
      dot.textContent = "\u25cf ";
      dot.style.color = color;
    }
    element.append(words);
    return element;
  }

  function tooltip(option, shown) {
    const items = Array.isArray(shown) ? shown : [shown];
    const lines = [];
    for (const item of items) {
      const about = option.series[item.seriesIndex].iodyno;
      if (!about) continue;
      if (item.data && item.data.about) return item.data.about.map((words) => line(words));
      if (about.table) {
        const place = about.table.map((axis, n) => axis.name + "\u2009=\u2009" + axis.values[item.value[n]]);
        lines.push(line(place.join(", ")), line(text(about.z, item.value[2], 4)));
        const ends = item.data && item.data.predicted;
        if (ends) lines.push(line("predicted, not measured: " + ends.map((end) => text(about.z, end, 4)).join(" to ")));
        return lines;
      }
      const value = (axis) => {
        const found = item.value[axis === "x" ? 0 : 1];
        if (about[axis] !== "category") return text(about[axis], found, 4);
        const axes = option[axis + "Axis"][option.series[item.seriesIndex][axis + "AxisIndex"]];
        return axes.data[found];
      };
      if (!lines.length && items.length > 1) lines.push(line(value("x")));
      const name = [item.seriesName, about.detail].filter(Boolean).join(" ");
      const measured = items.length > 1
        ? value("y")
        : [item.name, value("x"), value("y")].filter(Boolean).join(", ");
      lines.push(line(name + "\u2002" + measured, item.color));
    }
    return lines;
  }

  const RENDERERS = {
    whiskers: () => (params, api) => {
      const { y, height } = params.coordSys;
      const [low, high] = [1, 2].map((n) => api.coord([api.value(0), api.value(n)]));
      // An end beyond the panel, such as 0 on a logarithmic axis, gets an arrow for a cap.
      const ends = [!(low[1] <= y + height + 1), !(high[1] >= y - 1)];
      if (ends[0]) low[1] = y + height;
      if (ends[1]) high[1] = y;
      return group(whisker(low, high, false, api, ends));
    },

    // A bar's interval, and its value after it.
    "bar-end": (series, index, count, quantity) => (params, api) => {
      const bars = api.barLayout({ count: +count, barMaxWidth: 34, barGap: "8%" });
      const shift = bars[+index] ? bars[+index].offsetCenter : 0;
      const at = (value) => {
        const [x, y] = api.coord([value, api.value(0)]);
        return [x, y + shift];
      };
      const [low, high, value, predicted] = [1, 2, 3, 4].map((n) => api.value(n));
      const edge = params.coordSys.x + params.coordSys.width;
      const open = at(high)[0] > edge + 1;
      const [x, y] = [Math.min(edge, at(Math.max(high, value || 0))[0]), at(0)[1]];
      const words = {
        type: "text", x: x + 6, y,
        style: { text: (predicted ? "~ " : "") + text(quantity, value, 3), font: "12px sans-serif", fill: api.visual("color"), verticalAlign: "middle" },
      };
      const drawn = (style) => whisker(at(low), open ? [edge, y] : at(high), true, api, [false, open], style);
      // Visible on its bar, too.
      const halo = { stroke: series.itemStyle.borderColor, lineWidth: 3.6, fill: null };
      const interval = low < high ? [...drawn(halo), ...drawn()] : [];
      // Values need a line each.
      return group(bars[+index] && bars[+index].width < 10 ? interval : [...interval, words]);
    },

    // Line segments over a table, in columns and rows.
    crossing: (series) => (params, api) => {
      const [left, bottom] = api.coord([0, 0]);
      const [wide, high] = api.size([1, 1]);
      const points = series.data[params.dataIndex].line.map(([x, y]) => [left + x * wide, bottom - y * high]);
      const stroke = (color, lineWidth) => ({
        type: "polyline", shape: { points },
        style: { stroke: color, fill: null, lineWidth, lineCap: "round" },
      });
      // Visible on dark and light cells.
      const { borderColor, color } = series.itemStyle;
      return group([stroke(borderColor, 5), stroke(color, 2.5)]);
    },

    // Floor, walls and text of 3D bars.
    scene: (series) => (params, api) => {
      const item = series.data[params.dataIndex];
      if (item.line) {
        const points = item.line.map((place) => api.coord(place));
        return { type: "polyline", shape: { points }, style: { stroke: series.itemStyle.borderColor, fill: null, lineWidth: 1 } };
      }
      const [x, y] = api.coord(item.at);
      return {
        type: "text", x: x + item.shift[0], y: y + item.shift[1],
        style: {
          text: item.text, font: item.size + "px sans-serif", fill: series.itemStyle.color,
          align: item.align, verticalAlign: "middle",
        },
      };
    },

    tower: (series) => (params, api) => {
      const item = series.data[params.dataIndex];
      const shade = [0.72, 0.86, 1];
      const faces = item.faces.map((corners, n) => ({
        type: "polygon",
        shape: { points: corners.map((place) => api.coord(place)) },
        style: item.predicted
          ? { fill: shaded(item.itemStyle.color, shade[n]), stroke: item.itemStyle.borderColor, lineWidth: 1, lineDash: [3, 2] }
          : { fill: shaded(item.itemStyle.color, shade[n]), stroke: "rgba(0,0,0,0.35)", lineWidth: 0.5 },
      }));
      const top = item.faces[2].map((place) => api.coord(place)[0]);
      const wide = Math.max(...top) - Math.min(...top);
      const size = Math.max(8, Math.min(14, wide * 0.62 / textWidth(item.name, 1)));
      const [x, y] = api.coord(item.middle);
      const words = {
        type: "text", x, y,
        style: {
          text: item.name, font: size.toFixed(1) + "px sans-serif", fill: item.label.color,
          align: "center", verticalAlign: "middle",
        },
      };
      return group(item.hidden ? faces : [...faces, words]);
    },
  };

  const group = (children) => ({ type: "group", children });

  function shaded(color, share) {
    const part = (at) => Math.round(parseInt(color.slice(at, at + 2), 16) * share);
    return "rgb(" + [1, 3, 5].map(part).join(",") + ")";
  }

  // `low` and `high` are positions; an open end continues beyond and gets an arrow.
  function whisker(low, high, lying, api, open, style = { stroke: api.visual("color"), lineWidth: 1.2, opacity: 0.8, fill: null }) {
    const line = (a, b) => ({
      type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style,
    });
    const cap = (at) => lying
      ? line([at[0], at[1] - 4], [at[0], at[1] + 4])
      : line([at[0] - 4, at[1]], [at[0] + 4, at[1]]);
    const arrow = (at, way) => lying
      ? [line([at[0] - 5 * way, at[1] - 3], at), line([at[0] - 5 * way, at[1] + 3], at)]
      : [line([at[0] - 3, at[1] + 5 * way], at), line([at[0] + 3, at[1] + 5 * way], at)];
    const end = (at, n) => (open[n] ? arrow(at, n ? 1 : -1) : [cap(at)]);
    return [line(low, high), ...[low, high].flatMap(end)];
  }

  // A copy of the option with functions in place of their names.
  function bind(option) {
    const walk = (value, key, parent) => {
      if (typeof value === "string") {
        const [name, ...words] = value.split(":");
        if (key === "renderItem") return RENDERERS[name](parent, ...words);
        if (key !== "formatter" || !Object.hasOwn(FORMATTERS, name)) return value;
        return FORMATTERS[name](...(name === "tooltip" ? [option] : words));
      }
      if (Array.isArray(value)) {
        return key === "data" ? value.slice() : value.map((one) => walk(one, key));
      }
      if (value === null || typeof value !== "object") return value;
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one, key, value)]));
    };
    return walk(option, "");
  }

  // ---- Layout.

  const MARGIN = 16;
  // Room for an axis's labels and name.
  const LABELS = 76;

  // Wraps `text` to lines of `width`; longer words are cut.
  function wrap(text, size, width) {
    const lines = [""];
    for (let word of text.split(" ")) {
      const last = lines.length - 1;
      const longer = lines[last] === "" ? word : lines[last] + " " + word;
      if (textWidth(longer, size) <= width) {
        lines[last] = longer;
        continue;
      }
      if (lines[last] !== "") lines.push("");
      while (word && textWidth(word, size) > width) {
        let length = Math.max(1, word.length - 1);
        while (length > 1 && textWidth(word.slice(0, length), size) > width) length -= 1;
        lines[lines.length - 1] = word.slice(0, length);
        lines.push("");
        word = word.slice(length);
      }
      lines[lines.length - 1] = word;
    }
    return lines;
  }

  // Wraps `text` to at most `most` lines; what is too long loses its middle, since names that begin
  // alike differ at their ends.
  function fitted(text, size, width, most) {
    const lines = wrap(text, size, width);
    if (lines.length <= most) return lines;
    const letters = [...text];
    const cut = (kept) => wrap(letters.slice(0, kept >> 1).join("") + "\u2026" + letters.slice(letters.length - kept + (kept >> 1)).join(""), size, width);
    let [least, none] = [0, letters.length];
    while (none - least > 1) {
      const middle = (least + none) >> 1;
      if (cut(middle).length <= most) least = middle;
      else none = middle;
    }
    return cut(least);
  }

  function legendRows(legend, width) {
    let [rows, used] = [1, 0];
    for (const item of legend.data) {
      const wide = legend.itemWidth + 5 + textWidth(item.name, 12) + legend.itemGap;
      if (used > 0 && used + wide > width) [rows, used] = [rows + 1, 0];
      used += wide;
    }
    return rows;
  }

  function columnsIn(option, width) {
    return Math.max(1, Math.min(option.iodyno.columns, option.grid.length, Math.floor(width / option.iodyno.narrowest)));
  }

  // Height of a title wrapped to `room`.
  function titleHeight(title, room) {
    const size = title.textStyle.fontSize;
    return title.text ? wrap(title.text, size, room).length * Math.round(size * 1.35) + 5 : 0;
  }

  // Preferred height of a picture of `width`: horizontal bars and rows of a table
  // need room each, 3D bars are seen from above.
  function height(option, width) {
    if (option.series.some((one) => one.renderItem === "tower")) return Math.min(width, 560);
    const tree = option.series.find((one) => one.type === "tree");
    if (tree) return 120 + 58 * tree.iodyno.leaves;
    const rows = Math.ceil(option.grid.length / columnsIn(option, width));
    const panel = (axis, n) => {
      if (axis.type !== "category") return 0;
      const bars = option.series.filter((one) => one.type === "bar" && one.yAxisIndex === n).length;
      return 70 + axis.data.length * (bars > 0 ? 8 + 17 * bars : 30);
    };
    const inside = width - 2 * MARGIN;
    const titles = option.title.filter((title) => title.iodyno !== "panel").map((title) => titleHeight(title, inside));
    const legend = option.legend.show && !lineEnds(option, width) ? 6 + 24 * legendRows(option.legend, inside) : 0;
    const around = titles.reduce((sum, one) => sum + one, 32 + legend);
    return Math.min(4800, around + rows * Math.max(rows > 1 ? 190 : 290, ...option.yAxis.map(panel)));
  }

  // Lays out a picture of `width` by `height`; `ends` are the names at the ends of lines,
  // in place of a legend.
  function place(option, width, height, ends) {
    const inside = width - 2 * MARGIN;
    const panels = option.title.filter((title) => title.iodyno === "panel");
    let top = 14;
    const put = (title, room, most = Infinity) => {
      const size = title.textStyle.fontSize;
      const lines = title.text ? fitted(title.text, size, room, most) : [];
      title.text = lines.join("\n");
      title.textStyle.lineHeight = Math.round(size * 1.35);
      title.show = lines.length > 0;
      return lines.length * title.textStyle.lineHeight;
    };
    for (const title of option.title) {
      if (title.iodyno === "title" || title.iodyno === "subtitle") {
        title.left = MARGIN;
        title.top = top;
        top += put(title, inside) + (title.show ? 4 : 0);
      }
    }
    let bottom = height - 10;
    for (const title of option.title) {
      if (title.iodyno === "notes") {
        bottom -= put(title, inside);
        title.left = MARGIN;
        title.top = bottom;
        if (title.show) bottom -= 6;
      }
    }
    if (ends) option.legend.show = false;
    if (option.legend.show) {
      option.legend.top = top + 6;
      option.legend.width = inside;
      top += 6 + legendRows(option.legend, inside) * 24;
    }
    const columns = columnsIn(option, width);
    const rows = Math.ceil(panels.length / columns);
    const gap = 18;
    const [wide, high] = [(inside - gap * (columns - 1)) / columns, (bottom - top - 8) / rows];
    panels.forEach((title, n) => {
      const left = MARGIN + (n % columns) * (wide + gap);
      const above = top + 8 + Math.floor(n / columns) * high;
      title.left = left;
      title.top = above;
      const bar = option.visualMap.find((one) => one.iodyno === n);
      const barWide = bar ? bar.itemHeight + textWidth(bar.text.join("0"), 12) + 24 : 0;
      const head = put(title, bar ? Math.max(60, wide - barWide) : wide, 2);
      if (bar) Object.assign(bar, { left: left + wide - barWide, top: above, show: wide > 2 * barWide });
      // Category names get the room they need, up to half of the panel.
      const lying = option.yAxis[n].data && option.yAxis[n].inverse;
      const rows = lying ? option.yAxis[n].data.map((name) => textWidth(name, 12)) : [];
      const labels = lying ? Math.min(wide / 2, Math.max(...rows) + 22) : option.yAxis[n].name ? LABELS : LABELS - 30;
      // Stacked panels have the same right edge.
      const names = ends ? (columns > 1 ? ends[n] : ends.flat()) : [];
      const named = names.length ? 28 + Math.max(...names.map((one) => textWidth(one.text, 12))) : 0;
      const right = lying ? (bar ? 26 : 84) : Math.max(26, named);
      Object.assign(option.grid[n], {
        left: left + labels, top: above + head + 8,
        width: Math.max(40, wide - labels - right), height: Math.max(40, high - head - 30 - (option.xAxis[n].name ? option.xAxis[n].nameGap || 24 : 8)),
        outerBoundsMode: "none",
      });
      // As many ticks as there is room for their labels; fewer powers would stretch a logarithmic axis.
      for (const [axis, room] of [[option.xAxis[n], option.grid[n].width / 45], [option.yAxis[n], option.grid[n].height / 28]]) {
        if (axis.type === "value") axis.splitNumber = Math.max(1, Math.min(5, Math.floor(room)));
      }
      if (lying) {
        // A name gets as many lines as fit in its row.
        const axis = option.yAxis[n];
        const most = Math.max(1, Math.floor(option.grid[n].height / rows.length / 14));
        axis.data = axis.data.map((name) => fitted(name, 12, labels - 12, most).join("\n"));
        if (rows.length * 13 > option.grid[n].height) axis.axisLabel.hideOverlap = true;
      }
      for (const one of option.series) {
        if (one.type !== "tree" || one.iodyno.tree !== n) continue;
        const room = wide / one.iodyno.levels;
        // The text of the last column follows its nodes.
        Object.assign(one, { left: left + 5, top: above + head + 24, width: wide - room, height: Math.max(40, high - head - 56) });
        one.data.forEach((root) => write(root, room - 22));
      }
    });
    return option;
  }

  // Labels a tree node and its descendants, cut to `room`.
  function write(node, room) {
    const styled = ([style, words]) => {
      const size = style === "name" ? 12 : 11;
      // Braces and bars are markup of styles in ECharts.
      let text = words.replace(/[{}|]/g, " ");
      if (textWidth(text, size) > room) {
        while (text && textWidth(text + "\u2026", size) > room) text = text.slice(0, -1);
        text += "\u2026";
      }
      return "{" + style + "|" + text + "}";
    };
    node.label = { formatter: node.shown.map(styled).join("\n") };
    node.children.forEach((child) => write(child, room));
  }

  // Labels at the ends of each panel's lines, if all end at its right edge: the series' name
  // or, if all have the same name, their detail. Null: a legend is needed.
  function lineEnds(option, width) {
    const drawn = option.series.filter((one) => one.type === "line" && one.data.length > 0);
    const single = option.legend.data.length < 2;
    const ends = option.grid.map((_, n) => {
      const [x, y] = [option.xAxis[n], option.yAxis[n]];
      const lines = drawn.filter((one) => one.xAxisIndex === n);
      // Distributions all end at the same point.
      if (y.type === "category" || lines.some((one) => one.step)) return [];
      const at = (one) => (Array.isArray(one) ? one : one.value);
      const flat = (value) => (x.type === "log" ? Math.log(value) : value);
      const all = lines.flatMap((one) => one.data.map((datum) => flat(at(datum)[0])));
      const bound = (end, other) => (typeof end === "number" ? flat(end) : other);
      const low = bound(x.min, all.reduce((a, b) => Math.min(a, b), Infinity));
      const high = bound(x.max, all.reduce((a, b) => Math.max(a, b), -Infinity));
      const found = new Map();
      for (const line of lines) {
        const text = single ? line.iodyno.detail : line.name;
        const place = at(line.data[line.data.length - 1]);
        if (found.has(text) && flat(found.get(text).at[0]) >= flat(place[0])) continue;
        const style = line.lineStyle || {};
        found.set(text, { text, at: place, color: style.color || line.itemStyle.color, name: line.name, dash: style.type });
      }
      const labels = [...found.values()].filter((one) => one.text);
      return labels.every((one) => flat(one.at[0]) >= low + 0.85 * (high - low)) ? labels : [];
    });
    const named = new Set(ends.flat().map((one) => one.text));
    const wanted = single ? [] : option.legend.data.map((one) => one.name);
    const room = (width - 2 * MARGIN) / columnsIn(option, width) - LABELS;
    const fits = ends.flat().every((one) => textWidth(one.text, 12) + 28 < room / 3);
    return named.size > 1 && fits && wanted.every((name) => named.has(name)) ? ends : null;
  }

  const LINE = 14; // between names at the ends of lines

  // Names at the ends of lines without overlap, each with a stroke like its line outside the
  // panel, and a thin grey tie from its end; null if a panel is too low for them.
  function labels(option, chart, ends, onclick) {
    const elements = [];
    for (const [n, all] of ends.entries()) {
      const grid = option.grid[n];
      if (all.length * LINE > grid.height + LINE) return null;
      const edge = grid.left + grid.width;
      const placed = all.map((one) => ({ ...one, from: chart.convertToPixel({ gridIndex: n }, one.at) }))
        .filter((one) => one.from.every(Number.isFinite)).sort((a, b) => a.from[1] - b.from[1]);
      let below = -Infinity;
      for (const one of placed) below = one.y = Math.max(one.from[1], below + LINE);
      let above = grid.top + grid.height + LINE / 2;
      for (const one of placed.toReversed()) above = (one.y = Math.min(one.y, above)) - LINE;
      const selected = chart.getOption().legend[0].selected;
      for (const { text, name, color, dash, from, y } of placed) {
        const opacity = selected[name] === false ? 0.3 : 1;
        const stroke = (points, style) => elements.push({ type: "polyline", silent: true, shape: { points }, style: { fill: null, opacity, ...style } });
        stroke([[Math.min(edge, from[0] + 3), from[1]], [edge + 6, y]], { stroke: option.xAxis[n].axisLine.lineStyle.color, lineWidth: 0.7 });
        stroke([[edge + 6, y], [edge + 22, y]], { stroke: color, lineWidth: 1.6, lineDash: { dashed: [5, 4], dotted: [2, 3] }[dash] });
        elements.push({
          type: "text", x: edge + 26, y, onclick: onclick && (() => onclick(name)), cursor: onclick ? "pointer" : "default",
          style: { text, font: "12px sans-serif", fill: option.textStyle.color, verticalAlign: "middle", opacity },
        });
      }
    }
    return elements;
  }

  // Applies the dark colours to an option: values by JSON pointers (RFC 6901).
  function darken({ option, dark }) {
    const plain = (key) => key.replaceAll("~1", "/").replaceAll("~0", "~");
    for (const [pointer, color] of Object.entries(dark)) {
      const keys = pointer.split("/").slice(1).map(plain);
      const last = keys.pop();
      keys.reduce((value, key) => value[key], option)[last] = color;
    }
  }

  const copy = (option) => JSON.parse(JSON.stringify(option));

  // Draws the option into the chart, with names at its lines if they fit.
  function render(chart, option, width, height, more, onclick) {
    const set = (ends) => {
      const placed = place(copy(option), width, height, ends);
      chart.setOption(more(bind(placed)), { notMerge: true });
      return placed;
    };
    const ends = lineEnds(option, width);
    const placed = ends && set(ends);
    const graphic = ends && labels(placed, chart, ends, onclick);
    if (!graphic) return void set(null);
    chart.setOption({ graphic });
    return () => chart.setOption({ graphic: labels(placed, chart, ends, onclick) }, { replaceMerge: ["graphic"] });
  }

  function svg(option, width, height, scale) {
    root.echarts.setPlatformAPI({
      measureText: (words, font) => {
        const size = parseFloat(/([\d.]+)px/.exec(font || "")?.[1] ?? "12");
        return { width: textWidth(words, size) };
      },
    });
    const chart = root.echarts.init(null, null, { renderer: "svg", ssr: true, width: width / scale, height: height / scale });
    try {
      render(chart, option, width / scale, height / scale, (one) => one);
      // Without hover styles and with ids that do not count charts, so that the
      // same figure gives the same document.
      const painted = chart.getZr().painter.renderToString({ cssEmphasis: false, useViewBox: true });
      return painted.replace(/(id="|url\(#)zr\d+-/g, "$1")
        .replace(/^<svg width="[^"]*" height="[^"]*"/, `<svg width="${width}" height="${height}"`);
    } finally {
      chart.dispose();
    }
  }

  // Pointer interaction besides hovering and the legend: zoom along x.
  function interactive(option) {
    const zooms = option.xAxis.some((axis) => axis.type !== "category");
    return zooms
      ? { ...option, dataZoom: [{ type: "inside", xAxisIndex: "all", filterMode: "none", zoomOnMouseWheel: "ctrl" }] }
      : option;
  }

  function draw(element, option) {
    const chart = root.echarts.init(element, null, { renderer: "svg" });
    let relabel;
    const toggle = (name) => chart.dispatchAction({ type: "legendToggleSelect", name });
    const show = () => {
      const [width, height] = [chart.getWidth(), chart.getHeight()];
      if (width > 0 && height > 0) relabel = render(chart, option, width, height, interactive, toggle);
    };
    show();
    chart.on("legendselectchanged", () => relabel && relabel());
    new root.ResizeObserver((_, observer) => {
      if (chart.isDisposed()) return observer.disconnect();
      chart.resize();
      show();
    }).observe(element);
    return chart;
  }

  // ---- Figures as tables.

  const MOST_ROWS = 400;

  // Each panel as {title, columns, rows, left: note on omitted rows}, all as text.
  function tables(option) {
    const tree = option.series.find((one) => one.type === "tree");
    if (tree) {
      const lines = (node, depth) => [["\u2003".repeat(depth) + node.name, node.about.slice(1).join("; ")],
        ...node.children.filter((child) => child.name).flatMap((child) => lines(child, depth + 1))];
      return [{ title: option.title[0].text, columns: ["device", "facts"], rows: lines(tree.data[0], 0) }];
    }
    const heads = option.title.filter((title) => title.iodyno === "panel");
    return option.grid.map((_, n) => {
      const drawn = option.series.filter((one) => one.yAxisIndex === n && one.iodyno && one.data.length);
      const title = heads[n].text || option.yAxis[n].name || option.xAxis[n].name;
      const table = drawn.find((one) => one.iodyno.table);
      if (table) {
        const [x, y] = table.iodyno.table;
        const cell = (column, row) => {
          const found = table.data.find(({ value }) => value[0] === column && value[1] === row);
          return found ? text(table.iodyno.z, found.value[2], 4) : "-";
        };
        const rows = y.values.map((name, row) => [name, ...x.values.map((_, column) => cell(column, row))]);
        return { title, columns: [[y.name, x.name].filter(Boolean).join(" \\ "), ...x.values], rows };
      }
      // Horizontal bars have their categories on the vertical axis.
      const lying = option.yAxis[n].type === "category";
      const [key, of] = lying ? [1, "x"] : [0, "y"];
      const axis = option[lying ? "yAxis" : "xAxis"][n];
      const places = new Map((axis.data || []).map((_, place) => [place, []]));
      drawn.forEach((one, column) => {
        // Error bars follow their series.
        const bars = option.series[option.series.indexOf(one) + 1];
        const ends = new Map((bars && bars.renderItem ? bars.data : []).map(([place, low, high]) => [place, low < high ? [low, high] : []]));
        for (const datum of one.data) {
          const place = datum.value || datum;
          const mark = datum.name ? `${datum.name}: ` : "";
          const interval = (ends.get(place[key]) || []).map((end) => text(one.iodyno[of], end, 4)).join(" to ");
          if (!places.has(place[key])) places.set(place[key], []);
          places.get(place[key])[column] = mark + text(one.iodyno[of], place[1 - key], 4) + (interval && ` (${interval})`);
        }
      });
      const name = (place) => (axis.data ? axis.data[place] : text(drawn[0].iodyno[lying ? "y" : "x"], place, 6));
      const sorted = [...places].sort((a, b) => a[0] - b[0]);
      const every = Math.ceil(sorted.length / MOST_ROWS);
      const shown = sorted.filter((_, at) => at % every === 0);
      return {
        title,
        columns: [axis.name || "", ...drawn.map((one) => [one.name, one.iodyno.detail].filter(Boolean).join(" "))],
        rows: shown.map(([place, cells]) => [name(place), ...drawn.map((_, column) => cells[column] ?? "-")]),
        left: every > 1 ? `1 of ${every} rows` : "",
      };
    });
  }

  root.iodyno = { darken, draw, height, svg, tables };
})(globalThis);
