// SPDX-License-Identifier: BSD-3-Clause
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = 8, DASHES = ["", "6 3", "2 3", "8 3 2 3"], HEIGHT = 340, PAPER = 900, MANY = 16, MARGIN = {left: 62, right: 14, top: 10, bottom: 46};

/** An element with attributes, properties of `on` as listeners, and children. */
function element(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "circle", "rect", "text", "clipPath"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, call] of Object.entries(value)) made.addEventListener(event, call);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A number as people read it. */
function shown(value) {
  if (typeof value !== "number") return value === null || value === undefined ? "-" : String(value);
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return value.toExponential(2);
  return value.toLocaleString("en", {maximumSignificantDigits: size >= 1e4 ? 6 : 4, useGrouping: size >= 1e4});
}

/** Half of an interval, with two figures. */
function halfShown(value) { return ` ±${shown(+value.toPrecision(2))}`; }

/** Lines below 0 are ideals. */
function dash(at) { return at < 0 ? `4 ${2 - at}` : DASHES[Math.floor(at / COLOURS) % DASHES.length]; }
function colour(at) { return at < 0 ? "var(--quiet)" : `var(--c${at % COLOURS})`; }

/** Round values between two bounds for an axis. */
function ticks(low, high, log, wanted) {
  if (log) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const factor of [1, 2, 5]) found.push(factor * 10 ** power);
    const inside = found.filter(tick => tick >= low && tick <= high);
    const tens = inside.filter(tick => Math.log10(tick) % 1 === 0);
    return inside.length <= wanted + 2 || tens.length < 2 ? inside : tens;
  }
  const raw = (high - low) / wanted || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= raw);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(+tick.toPrecision(12));
  return found;
}

/** A plot of lines, bars or both. Hover tells values, dragging zooms, a double click shows all again, the legend hides. */
class Chart {
  static all = [];
  static paper = null; // width while it is printed
  constructor(place) {
    this.place = place;
    Chart.all.push(this);
    this.hidden = new Set();
    this.range = null;
    this.legend = element("div", {class: "legend"});
    this.canvas = element("div");
    this.tip = element("div", {class: "tip", role: "status"});
    place.append(this.legend, this.canvas, this.tip);
    new ResizeObserver(() => this.plot && this.draw()).observe(place);
  }

  /** plot: {series: [{name, x, y, lo, hi, open, cross, look}], x, y (titles), categories, logX, logY, step} */
  show(plot) {
    const names = plot.series.map(series => series.name).join("\n");
    if (names !== this.names) this.hidden = new Set(plot.series.filter(series => series.look >= MANY).map(series => series.name));
    this.names = names;
    this.plot = plot;
    this.range = null;
    this.draw();
  }

  visible() { return this.plot.series.filter(series => !this.hidden.has(series.name)); }

  drawLegend() {
    this.legend.replaceChildren(...this.plot.series.map(series => element("button", {
      "aria-pressed": String(!this.hidden.has(series.name)), title: "show or hide; double click: only this",
      on: {click: () => { this.hidden.has(series.name) ? this.hidden.delete(series.name) : this.hidden.add(series.name); this.draw(); },
        dblclick: () => { this.hidden = new Set(this.plot.series.map(other => other.name).filter(name => name !== series.name)); this.draw(); }},
    }, element("svg", {viewBox: "0 0 22 10"}, element("line", {x1: 0, y1: 5, x2: 22, y2: 5, stroke: colour(series.look),
      "stroke-width": 3, "stroke-dasharray": dash(series.look)})), series.name)));
    if (this.plot.series.length > MANY) this.legend.prepend(...["all", "none"].map(word => element("button", {class: "several",
      on: {click: () => { this.hidden = new Set(word === "all" ? [] : this.plot.series.map(series => series.name)); this.draw(); }}}, `show ${word}`)));
  }

  bounds() {
    const {logX, logY, categories} = this.plot, xs = [], ys = [];
    for (const series of this.visible()) series.x.forEach((x, i) => {
      if (series.y[i] === null || (this.range && (x < this.range[0] || x > this.range[1]))) return;
      if (!(logX && x <= 0)) xs.push(x);
      for (const y of [series.y[i], series.lo && series.lo[i], series.hi && series.hi[i]])
        if (typeof y === "number" && !(logY && y <= 0)) ys.push(y);
    });
    const least = (list, none) => list.reduce((a, b) => Math.min(a, b), list.length ? Infinity : none);
    const most = (list, none) => list.reduce((a, b) => Math.max(a, b), list.length ? -Infinity : none);
    let x = this.range || (categories ? [-0.5, categories.length - 0.5] : [least(xs, logX ? 1 : 0), most(xs, 1)]);
    if (x[0] === x[1]) x = logX ? [x[0] / 2, x[1] * 2] : [x[0] - 0.5, x[1] + 0.5];
    else if ((this.plot.marks || this.plot.step) && !this.range) x = logX ? [x[0] / 1.1, x[1] * 1.1] : [x[0] - (x[1] - x[0]) * 0.04, x[1] + (x[1] - x[0]) * 0.04];
    let y = logY ? [least(ys, 1) / 1.2, most(ys, 10) * 1.2] : [Math.min(0, least(ys, 0)), most(ys, 1) * 1.05];
    if (this.plot.top) y = [0, this.plot.top];
    if (y[0] === y[1]) y = [y[0], y[0] + 1];
    return {x, y};
  }

  draw() {
    const width = Chart.paper || Math.max(260, this.place.clientWidth), plot = this.plot, {x, y} = this.bounds();
    const scale = (range, from, to, log) => {
      const f = log ? Math.log : value => value, a = f(range[0]), b = f(range[1]);
      const forth = value => from + (f(value) - a) / (b - a) * (to - from);
      forth.back = at => (log ? Math.exp : value => value)(a + (at - from) / (to - from) * (b - a));
      return forth;
    };
    this.toX = scale(x, MARGIN.left, width - MARGIN.right, plot.logX);
    this.toY = scale(y, HEIGHT - MARGIN.bottom, MARGIN.top, plot.logY);
    const svg = element("svg", {viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img",
      "aria-label": `${plot.y} over ${plot.x}`});
    const clip = "clip" + Math.random().toString(36).slice(2);
    svg.append(element("clipPath", {id: clip}, element("rect", {x: MARGIN.left, y: MARGIN.top - 4,
      width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom + 5})));
    this.drawAxes(svg, width, x, y);
    const body = element("g", {"clip-path": `url(#${clip})`});
    const visible = this.visible();
    visible.forEach((series, at) => plot.bars ? this.drawBars(body, series, at, visible.length) : this.drawLine(body, series));
    svg.append(body);
    this.listen(svg, width);
    this.canvas.replaceChildren(svg);
    this.tip.style.display = "none";
    this.drawLegend();
  }

  drawAxes(svg, width, x, y) {
    const plot = this.plot, floor = HEIGHT - MARGIN.bottom;
    for (const tick of ticks(y[0], y[1], plot.logY, 5)) svg.append(
      element("line", {class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: this.toY(tick), y2: this.toY(tick)}),
      element("text", {x: MARGIN.left - 6, y: this.toY(tick) + 4, "text-anchor": "end"}, shown(tick)));
    const room = width - MARGIN.left - MARGIN.right;
    if (plot.categories) {
      const letters = Math.max(3, Math.floor(room / plot.categories.length / 7));
      plot.categories.forEach((name, at) => at >= x[0] && at <= x[1] && svg.append(element("text",
        {x: this.toX(at), y: floor + 16, "text-anchor": "middle"},
        name.length > letters ? name.slice(0, letters - 1) + "…" : name, element("title", {}, name))));
    } else for (const tick of this.placesOf(x, Math.max(2, Math.floor(room / 90)))) svg.append(
      element("line", {class: "grid", x1: this.toX(tick), x2: this.toX(tick), y1: MARGIN.top, y2: floor}),
      element("text", {x: this.toX(tick), y: floor + 16, "text-anchor": "middle"}, shown(tick)));
    svg.append(element("text", {x: MARGIN.left + room / 2, y: HEIGHT - 8, "text-anchor": "middle"}, plot.x),
      element("text", {transform: `translate(12 ${(MARGIN.top + floor) / 2}) rotate(-90)`, "text-anchor": "middle"}, plot.y));
  }

  /** Ticks of the horizontal axis: the values that were measured, if they are few. */
  placesOf(x, wanted) {
    const {marks, logX, series} = this.plot, inside = marks ? [...new Set(series.flatMap(one => one.x))] : [];
    const measured = inside.filter(value => value >= x[0] && value <= x[1]).sort((a, b) => a - b).map(value => [value, this.toX(value)]);
    const apart = measured.every(([, at], i) => !i || at - measured[i - 1][1] > 45);
    return measured.length && apart ? measured.map(([value]) => value) : ticks(x[0], x[1], logX, wanted);
  }

  points(series) {
    return series.x.map((x, i) => [x, series.y[i], i]).filter(([x, y]) => y !== null && !(this.plot.logX && x <= 0) &&
      !(this.plot.logY && y <= 0));
  }

  drawLine(body, series) {
    const points = this.points(series), paint = colour(series.look), at = ([x, y]) => `${this.toX(x).toFixed(1)} ${this.toY(y).toFixed(1)}`;
    if (!points.length) return;
    if (series.lo && series.hi) {
      const known = points.filter(([, , i]) => series.lo[i] !== null && series.hi[i] !== null);
      const low = value => Math.max(value, this.plot.logY ? 1e-12 : value);
      const upper = known.map(([x, , i]) => at([x, series.hi[i]])), lower = known.map(([x, , i]) => at([x, low(series.lo[i])])).reverse();
      if (known.length > 1) body.append(element("path", {d: "M" + [...upper, ...lower].join("L") + "Z", fill: paint, opacity: 0.15}));
      else if (known.length) body.append(element("path", {d: "M" + upper + "L" + lower, stroke: paint, opacity: 0.5}));
    }
    const steps = points.flatMap((point, i) => this.plot.step && i ? [[point[0], points[i - 1][1]], point] : [point]);
    if (this.plot.step) steps.unshift([points[0][0], 0]);
    body.append(element("path", {d: "M" + steps.map(at).join("L"), fill: "none", stroke: paint, "stroke-width": series.look < 0 ? 1.2 : 1.9,
      "stroke-dasharray": dash(series.look), "stroke-linejoin": "round"}));
    if (this.plot.marks) for (const [x, y, i] of points) body.append(element("circle", {cx: this.toX(x), cy: this.toY(y), r: 4,
      stroke: paint, "stroke-width": 1.8, fill: series.open && series.open[i] ? "var(--paper)" : paint}));
    if (series.cross) {
      const [x, y] = points[points.length - 1], cx = this.toX(x), cy = this.toY(y);
      body.append(element("path", {class: "cross", d: `M${cx - 5} ${cy - 5}l10 10m0 -10l-10 10`, stroke: paint, "stroke-width": 2}));
    }
  }

  drawBars(body, series, at, count) {
    const unit = this.toX(1) - this.toX(0), wide = unit * 0.8 / count, floor = this.toY(this.plot.logY ? this.toY.back(HEIGHT - MARGIN.bottom) : 0);
    for (const [x, y, i] of this.points(series)) {
      const left = this.toX(x) - unit * 0.4 + wide * at, top = this.toY(y), middle = left + wide / 2, open = series.open && series.open[i];
      body.append(element("rect", {x: left + wide * 0.04, y: Math.min(top, floor), width: wide * 0.92, height: Math.abs(floor - top),
        fill: open ? "var(--paper)" : colour(series.look), stroke: colour(series.look), "stroke-width": 1.5, "stroke-dasharray": open ? "4 2" : null}));
      if (series.lo[i] !== null && series.hi[i] !== null && series.hi[i] > series.lo[i]) {
        const low = this.toY(Math.max(series.lo[i], this.plot.logY ? this.toY.back(HEIGHT - MARGIN.bottom) : series.lo[i])), high = this.toY(series.hi[i]);
        body.append(element("path", {d: `M${middle} ${low}V${high}m-3 0h6M${middle - 3} ${low}h6`, stroke: "var(--ink)", "stroke-width": 1.2}));
      }
    }
  }

  listen(svg, width) {
    const cursor = element("line", {class: "grid", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden", "stroke-dasharray": "3 3"});
    const chosen = element("rect", {y: MARGIN.top, height: HEIGHT - MARGIN.top - MARGIN.bottom, fill: "var(--mark)", opacity: 0.15, width: 0});
    svg.append(cursor, chosen);
    const inside = event => {
      const box = svg.getBoundingClientRect();
      return Math.min(width - MARGIN.right, Math.max(MARGIN.left, (event.clientX - box.left) * width / box.width));
    };
    let start = null;
    svg.addEventListener("pointerdown", event => { start = inside(event); });
    svg.addEventListener("pointermove", event => {
      const at = inside(event);
      if (start !== null) { chosen.setAttribute("x", Math.min(start, at)); chosen.setAttribute("width", Math.abs(at - start)); }
      this.tell(at, cursor, width);
    });
    svg.addEventListener("pointerup", event => {
      const at = inside(event), range = [Math.min(start, at), Math.max(start, at)].map(this.toX.back);
      if (start !== null && Math.abs(at - start) > 8) { this.range = range; this.draw(); }
      start = null;
    });
    svg.addEventListener("pointerleave", () => { start = null; this.tip.style.display = "none"; cursor.setAttribute("visibility", "hidden"); });
    svg.addEventListener("dblclick", () => { this.range = null; this.draw(); });
  }

  /** The point of a series that tells of a place: the nearest, or of steps the last before it. */
  nearest(series, at) {
    let best = null;
    for (const point of this.points(series)) {
      const away = this.toX(point[0]) - at;
      if (this.plot.step ? away <= 0 : !best || Math.abs(away) < Math.abs(this.toX(best[0]) - at)) best = point;
    }
    const places = series.x.length ? [this.toX(series.x[0]), this.toX(series.x[series.x.length - 1])] : [];
    return best && (this.plot.step || (at > Math.min(...places) - 60 && at < Math.max(...places) + 60)) ? best : null;
  }

  /** Values of all visible series next to a place. */
  tell(at, cursor, width) {
    const rows = [];
    let where = null;
    for (const series of this.visible()) {
      const best = this.nearest(series, at);
      if (!best) continue;
      where = where === null || Math.abs(this.toX(best[0]) - at) < Math.abs(this.toX(where) - at) ? best[0] : where;
      const half = series.half && series.half[best[2]] !== null ? halfShown(series.half[best[2]]) : "";
      rows.push(element("div", {style: `color:${colour(series.look)}`}, `${series.name}: ${shown(best[1])}${half}` +
        (this.plot.categories ? "" : ` at ${shown(best[0])}`) + (series.open && series.open[best[2]] ? " (flows did not end)" : "")));
    }
    if (where === null) { this.tip.style.display = "none"; return; }
    const title = this.plot.categories ? this.plot.categories[where] : `${this.plot.x}: ${shown(where)}`;
    this.tip.replaceChildren(element("strong", {}, title), ...rows.slice(0, 14));
    cursor.setAttribute("x1", this.toX(where));
    cursor.setAttribute("x2", this.toX(where));
    cursor.setAttribute("visibility", "visible");
    this.tip.style.display = "block";
    const left = Math.min(this.toX(where) + 12, width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(0, left)}px`;
    this.tip.style.top = `${this.canvas.offsetTop + MARGIN.top}px`;
  }
}

/** A choice among [value, text]; `change` gets the value. */
function choice(place, label, entries, chosen, change) {
  const select = element("select", {on: {change: () => change(select.value)}},
    ...entries.map(([value, text]) => element("option", {value, ...(value === chosen ? {selected: ""} : {})}, text)));
  place.append(element("label", {}, label, select));
}

function tick(place, label, chosen, change) {
  const box = element("input", {type: "checkbox", ...(chosen ? {checked: ""} : {}), on: {change: () => change(box.checked)}});
  place.append(element("label", {}, box, label));
  return box;
}

/** What tells a combination apart, without the key at `except`. */
function nameOf(combination, except = -1) {
  const words = combination.values.map((value, i) => i === except ? null : data.keys[i] === "case" ? value : `${data.keys[i]} ${shown(value)}`);
  return words.filter(word => word !== null).join(", ") || "all";
}

function compare() {
  const section = document.getElementById("compare");
  if (data.combinations.length === 1) { section.remove(); return; }
  const controls = section.querySelector(".controls");
  const chart = new Chart(section.querySelector(".chart"));
  const names = data.measures.map(measure => measure.name), axes = data.keys.map((key, i) => [String(i), key]);
  const varied = data.keys.map((key, i) => i).filter(i => data.keys[i] !== "case");
  const state = {measure: names.includes("fct_max_us") ? "fct_max_us" : names[0], x: varied.length ? varied[varied.length - 1] : 0, log: false, logX: false};
  const draw = () => {
    const at = names.indexOf(state.measure), title = data.measures[at].title;
    const values = data.keys.length ? [...new Set(data.combinations.map(one => one.values[state.x]))] : ["all"];
    const numeric = values.every(value => typeof value === "number") && values.length > 1;
    const lines = new Map();
    for (const one of data.combinations) {
      const name = nameOf(one, data.keys.length ? state.x : -1), [mean, half, open] = one.cells[at];
      if (!lines.has(name)) lines.set(name, {name, look: lines.size, x: [], y: [], lo: [], hi: [], half: [], open: []});
      const line = lines.get(name), value = data.keys.length ? one.values[state.x] : "all";
      line.x.push(numeric ? value : values.indexOf(value));
      line.y.push(mean);
      line.half.push(half);
      line.lo.push(half === null || mean === null ? mean : mean - half);
      line.hi.push(half === null || mean === null ? mean : mean + half);
      line.open.push(open);
    }
    chart.show({series: [...lines.values()], x: data.keys[state.x] || "", y: title, bars: !numeric, marks: numeric,
      categories: numeric ? null : values.map(shown), logY: state.log, logX: numeric && state.logX});
  };
  choice(controls, "measure", data.measures.map(measure => [measure.name, measure.title]), state.measure, value => { state.measure = value; draw(); });
  if (axes.length > 1) choice(controls, "over", axes, String(state.x), value => { state.x = Number(value); draw(); });
  tick(controls, "log y", false, value => { state.log = value; draw(); });
  tick(controls, "log x", false, value => { state.logX = value; draw(); });
  draw();
}

function curves() {
  const section = document.getElementById("curves"), controls = section.querySelector(".controls");
  const known = curve => curve.x.length > 0 || curve.open > 0;
  if (!data.curves.fct_us.some(known)) { section.remove(); return; }
  const chart = new Chart(section.querySelector(".chart"));
  const spread = list => { const x = list.flatMap(curve => curve.x).filter(value => value > 0); return x.length ? Math.max(...x) / Math.min(...x) : 1; };
  const state = {kind: "fct_us", log: spread(data.curves.fct_us) > 30};
  const draw = () => {
    const series = data.combinations.map((one, at) => {
      const curve = data.curves[state.kind][at], open = curve.open ? ` (${shown(100 * curve.open)} % did not end)` : "";
      return known(curve) && {name: nameOf(one) + open, look: at, x: curve.x, y: curve.y, cross: curve.open > 0};
    }).filter(Boolean);
    if (state.kind === "fct_us") data.ideals.forEach((ideal, at) => series.push({look: -1 - at, ...ideal}));
    chart.show({series, x: state.kind === "fct_us" ? "flow completion time (µs)" : "FCT over the flow's ideal", y: "share of flows",
      step: true, logX: state.log, top: 1.02});
  };
  choice(controls, "of", [["fct_us", "flow completion times"], ["slowdown", "slowdowns"]], state.kind, value => { state.kind = value; draw(); });
  tick(controls, "log x", state.log, value => { state.log = value; draw(); });
  draw();
}

function overTime() {
  const section = document.getElementById("time");
  if (!data.time.length) { section.remove(); return; }
  if (data.left_out) section.querySelector(".left-out").textContent = ` ${data.left_out} combinations are left out.`;
  const controls = section.querySelector(".controls"), chart = new Chart(section.querySelector(".chart"));
  const titles = {queue: "queue (kB)", cwnd: "cwnd (kB)", goodput: "goodput (Gb/s)"};
  const kinds = Object.keys(titles).filter(kind => data.time.some(curve => curve.kind === kind));
  const present = [...new Set(data.time.map(curve => curve.of))], many = present.length > 1;
  const state = {kind: kinds[0], of: many ? "all" : String(present[0]), log: false};
  const draw = () => {
    const seen = new Set();
    const chosen = data.time.filter(curve => curve.kind === state.kind && (state.of === "all" ? !seen.has(curve.of) && seen.add(curve.of) : curve.of === Number(state.of)));
    chart.show({series: chosen.map((curve, at) => ({...curve, look: at, name: state.of === "all" ? `${nameOf(data.combinations[curve.of])}: ${curve.name}` : curve.name})),
      x: "time (µs)", y: titles[state.kind], logY: state.log});
  };
  choice(controls, "of", kinds.map(kind => [kind, titles[kind]]), state.kind, value => { state.kind = value; draw(); });
  if (many) choice(controls, "runs", [["all", "all combinations, one line each"], ...present.map(at => [String(at), nameOf(data.combinations[at])])],
    state.of, value => { state.of = value; draw(); });
  tick(controls, "log y", false, value => { state.log = value; draw(); });
  draw();
}

/** A table that sorts by the column clicked on and shows rows that contain all words of the filter. */
function table(section, columns, rows, left) {
  const controls = section.querySelector(".controls"), body = element("tbody"), head = element("tr");
  const count = element("span", {class: "quiet"});
  const filter = element("input", {type: "search", placeholder: "filter by words", "aria-label": "filter", on: {input: () => draw()}});
  let by = -1, up = true;
  const textual = columns.map((_, i) => rows.some(row => typeof row[i].value === "string"));
  const order = (a, b) => {
    const x = a[by].value, y = b[by].value;
    if (x === y) return 0;
    if (x === null || y === null) return x === null ? 1 : -1;
    return (x < y ? -1 : 1) * (up ? 1 : -1);
  };
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = rows.filter(row => { const text = row.map(cell => cell.text.toLowerCase()).join(" "); return words.every(word => text.includes(word)); });
    if (by >= 0) kept.sort(order);
    body.replaceChildren(...kept.map(row => element("tr", {}, ...row.map((cell, i) => element("td", {class: textual[i] ? "text" : null}, cell.text)))));
    [...head.children].forEach((cell, i) => cell.setAttribute("aria-sort", i === by ? (up ? "ascending" : "descending") : "none"));
    count.textContent = `${kept.length} of ${rows.length} rows` + (left ? `, ${left} more are not on this page` : "");
  };
  head.append(...columns.map((name, i) => element("th", {class: textual[i] ? "text" : null, scope: "col",
    on: {click: () => { up = by === i ? !up : true; by = i; draw(); }}}, name)));
  controls.append(filter, count);
  section.querySelector(".table").append(element("table", {}, element("thead", {}, head), body));
  draw();
}

function tables() {
  const names = data.measures.map(measure => measure.name), shownAt = data.shown.map(name => names.indexOf(name));
  const cellOf = ([mean, half, open]) => ({value: mean, text: shown(mean) + (half ? halfShown(half) : "") + (open && mean !== null ? " *" : "")});
  table(document.getElementById("combinations"), [...data.keys, "runs", ...shownAt.map(at => data.measures[at].title)],
    data.combinations.map(one => [...one.values.map(value => ({value, text: shown(value)})), {value: one.n, text: String(one.n)}, ...shownAt.map(at => cellOf(one.cells[at]))]), 0);
  document.querySelector("#combinations").append(element("p", {class: "quiet"}, "± half of the 95 % confidence interval. *: of flows that ended; others did not."));
  table(document.getElementById("runs"), data.runs.columns, data.runs.rows.map(row => row.map(value => ({value, text: shown(value)}))), data.runs.left_out);
}

addEventListener("beforeprint", () => { Chart.paper = PAPER; Chart.all.forEach(chart => chart.plot && chart.draw()); });
addEventListener("afterprint", () => { Chart.paper = null; Chart.all.forEach(chart => chart.plot && chart.draw()); });
compare();
curves();
overTime();
tables();
document.documentElement.dataset.ready = "yes";
