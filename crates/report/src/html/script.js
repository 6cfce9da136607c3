"use strict";
// What a page of a report can do beside being read. Everything is optional: without it all values,
// curves and explanations are there. Not here: numbers, which are made where the document is made.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const add = (parent, name, attributes = {}, text = "") => {
    const svg = parent instanceof SVGElement || name === "svg";
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const key of Object.keys(attributes)) element.setAttribute(key, attributes[key]);
    element.textContent = text;
    return parent.appendChild(element);
  };

  // What was opened below a row of a table.
  const close = opened => {
    opened.previousSibling.querySelector(".rounds button").setAttribute("aria-expanded", "false");
    opened.remove();
  };

  // Tables: a click on a head sorts, and once more turns round; rows without a value come last.
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.v ?? cell.textContent.trim();
    const number = text === "" ? NaN : Number(text);
    return cell.dataset.v !== undefined || !Number.isNaN(number) ? number : text;
  };
  const order = (a, b, down) => {
    const empty = x => x === "" || Number.isNaN(x);
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    const numbers = typeof a === "number" && typeof b === "number";
    const by = numbers ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return down ? -by : by;
  };
  const sort = (table, head) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of all("thead th", table)) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    all("tr.opened", table).forEach(close);
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, i) => [key(row, head.cellIndex), i, row]);
    rows.sort((a, b) => order(a[0], b[0], down) || a[1] - b[1]);
    body.append(...rows.map(row => row[2]));
  };
  for (const table of all("table.sortable")) {
    for (const head of all("thead th", table)) {
      const text = head.textContent;
      head.setAttribute("aria-sort", "none");
      head.textContent = "";
      add(head, "button", { type: "button" }, text).onclick = () => sort(table, head);
    }
  }

  // Filters: words that a row must have, a state, and whether controls are shown.
  for (const table of all("table.filterable")) {
    const rows = [...table.tBodies[0].rows];
    const what = table.dataset.of;
    const form = document.createElement("form");
    form.className = "filter";
    form.setAttribute("role", "search");
    form.onsubmit = event => event.preventDefault();
    const words = add(add(form, "label", {}, "Filter " + what + " "), "input", { type: "search" });
    const states = [...new Set(all("[data-state]", table).map(cell => cell.dataset.state))];
    const select = states.length > 1 ? add(add(form, "label", {}, "state "), "select") : null;
    if (select) ["all", ...states].forEach(state => add(select, "option", {}, state));
    const controls = rows.filter(row => row.className === "control").length;
    let shown = null;
    if (controls) {
      const label = add(form, "label");
      shown = add(label, "input", { type: "checkbox" });
      label.append(` ${controls} controls and raw loops`);
    }
    const count = add(form, "output", { "aria-live": "polite" });
    let texts = null;
    const filter = () => {
      all("tr.opened", table).forEach(close);
      const wanted = words.value.toLowerCase().split(/\s+/).filter(word => word);
      if (wanted.length) texts ??= rows.map(row => row.textContent.toLowerCase());
      let left = 0;
      rows.forEach((row, i) => {
        const kept = wanted.every(word => texts[i].includes(word)) && (shown?.checked || row.className !== "control")
          && (!select || select.value === "all" || row.querySelector("[data-state]").dataset.state === select.value);
        row.hidden = !kept;
        left += kept;
      });
      count.textContent = `${left} of ${rows.length}`;
    };
    form.oninput = filter;
    (table.closest(".wide") ?? table).before(form);
    filter();
  }

  // A value as people read it, in the units of the document.
  let data = null;
  const said = (value, scale, significant = 3) => {
    const units = data.units[scale];
    const rounded = v => Number(v.toPrecision(significant));
    const [unit, name] = units.find(([unit]) => Math.abs(rounded(value / unit)) >= 1) ?? units[units.length - 1];
    const scaled = value / unit;
    const digits = scaled ? Math.max(0, significant - 1 - Math.floor(Math.log10(Math.abs(rounded(scaled))))) : 0;
    return scaled.toFixed(Math.min(digits, 12)) + name;
  };

  // Rounds and samples of one metric, below its row.
  const WIDTH = 460, HEIGHT = 170;
  const axes = (svg, low, high, scale, left, right, bottom) => {
    add(svg, "polyline", { class: "a", points: `${left},${bottom} ${right},${bottom}` });
    add(svg, "text", { class: "f", x: left, y: bottom + 16 }, said(low, scale));
    add(svg, "text", { class: "f right", x: right, y: bottom + 16 }, said(high, scale));
  };
  const drawRounds = (parent, of, scale) => {
    const svg = add(parent, "svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    add(svg, "title", {}, "Value of each round");
    const ends = [...of.r, ...(of.i ?? [])];
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const y = v => 130 - (high > low ? (v - low) / (high - low) : 0.5) * 110;
    const x = i => 80 + (i + 0.5) / of.r.length * (WIDTH - 90);
    if (of.i) add(svg, "rect", { class: "w", x: 75, y: y(of.i[1]), width: WIDTH - 80, height: Math.max(1, y(of.i[0]) - y(of.i[1])) });
    if (of.v !== undefined) add(svg, "polyline", { class: "t", points: `75,${y(of.v)} ${WIDTH - 5},${y(of.v)}` });
    // As many digits as tell the ends apart.
    const digits = [3, 4, 5].find(n => said(low, scale, n) !== said(high, scale, n)) ?? 5;
    add(svg, "text", { class: "f right", x: 70, y: y(low) + 4 }, said(low, scale, digits));
    if (high > low) add(svg, "text", { class: "f right", x: 70, y: y(high) + 4 }, said(high, scale, digits));
    of.r.forEach((v, i) => {
      const dot = add(svg, "circle", { class: "l0", cx: x(i), cy: y(v), r: 3.5 });
      add(dot, "title", {}, `round ${i + 1}: ${said(v, scale, digits)}`);
    });
    add(svg, "text", { class: "f mid", x: WIDTH / 2 + 35, y: 160 }, `${of.r.length} rounds in order; band: 95 % interval`);
  };
  const drawSamples = (parent, of, scale) => {
    const [[low, high], clean, disturbed, below, beyond] = of.h;
    const svg = add(parent, "svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    add(svg, "title", {}, "Distribution of the samples");
    const most = Math.max(...clean.map((n, i) => n + disturbed[i]));
    const width = (WIDTH - 10) / clean.length;
    const edge = i => low * (high / low) ** (i / clean.length);
    clean.forEach((n, i) => {
      const [a, b] = [n / most * 115, disturbed[i] / most * 115];
      const at = { x: 5 + i * width, width: Math.max(1, width - 1) };
      const bar = add(svg, "rect", { class: "l0", y: 135 - a, height: a, ...at });
      add(bar, "title", {}, `${said(edge(i), scale)} to ${said(edge(i + 1), scale)}: ${n} samples`);
      if (b) add(add(svg, "rect", { class: "d", y: 135 - a - b, height: b, ...at }), "title", {}, `${disturbed[i]} disturbed samples`);
    });
    if (of.v >= low && of.v <= high) {
      const x = 5 + Math.log(of.v / low) / Math.log(high / low) * (WIDTH - 10);
      add(svg, "polyline", { class: "t", points: `${x},10 ${x},135` });
      add(svg, "text", { class: x > WIDTH / 2 ? "t right" : "t", x: x + (x > WIDTH / 2 ? -5 : 5), y: 14 }, said(of.v, scale));
    }
    axes(svg, low, high, scale, 5, WIDTH - 5, 135);
    add(svg, "text", { class: "f mid", x: WIDTH / 2, y: 166 }, `samples (grey: disturbed); ${below} lie below, ${beyond} beyond`);
  };
  const open = row => {
    data ??= JSON.parse(document.getElementById("data").textContent);
    const metric = data.rows[Number(row.id.slice(1))];
    const opened = document.createElement("tr");
    opened.className = "opened";
    const whole = add(opened, "td", { colspan: row.cells.length });
    const runs = add(whole, "div", { class: "runs" });
    metric.r.forEach((of, run) => {
      if (!of) return;
      const cell = add(runs, "div");
      if (metric.r.length > 1) add(cell, "b", {}, "Run " + String.fromCharCode(65 + run));
      const pair = add(cell, "div", { class: "pair" });
      if (of.r.length) drawRounds(add(pair, "div"), of, metric.s);
      if (of.h) drawSamples(add(pair, "div"), of, metric.s);
      const list = add(cell, "dl");
      for (const [name, text] of of.t) {
        add(list, "dt", {}, data.texts[name]);
        add(list, "dd", {}, data.texts[text]);
      }
    });
    add(add(whole, "p", {}, "Again: "), "code", {}, metric.c);
    row.after(opened);
  };
  for (const row of all("#all > tbody > tr")) {
    const cell = row.querySelector(".rounds");
    const text = cell.textContent;
    const name = `Rounds and samples of ${row.cells[0].textContent} ${row.cells[1].textContent}`;
    cell.textContent = "";
    const button = add(cell, "button", { type: "button", "aria-expanded": "false", "aria-label": name, title: name }, text || "more");
    button.onclick = () => {
      const next = row.nextElementSibling;
      if (next?.classList.contains("opened")) return close(next);
      open(row);
      button.setAttribute("aria-expanded", "true");
    };
  }

  // What a link leads to is shown, however it was hidden.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    target.hidden = false;
    const details = target.closest("details");
    if (details) details.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Curves: the nearest point says its value, a line can be hidden, and dragging looks closer.
  const chart = svg => {
    const figure = svg.closest("figure");
    const [left, right, top, bottom] = svg.dataset.field.split(" ").map(Number);
    const readout = add(figure, "div", { class: "readout", role: "status", hidden: "" });
    const dots = all("circle", svg).map(dot => ({ dot, says: dot.firstChild.textContent, line: dot.parentNode }));
    let at = null;
    const visible = d => !d.line.classList.contains("off") && !d.dot.classList.contains("gone");
    const point = d => ({ x: Number(d.dot.getAttribute("cx")), y: Number(d.dot.getAttribute("cy")) });
    const select = (d, focused) => {
      at?.dot.classList.remove("at");
      at = d;
      readout.hidden = !d;
      if (!d) return;
      d.dot.classList.add("at");
      readout.textContent = d.says;
      const [box, own] = [d.dot.getBoundingClientRect(), figure.getBoundingClientRect()];
      const room = own.width - readout.offsetWidth - 4;
      readout.style.left = Math.max(0, Math.min(box.left - own.left + 12, room)) + "px";
      readout.style.top = box.top - own.top - readout.offsetHeight - 8 + "px";
      dots.forEach(other => other.dot.setAttribute("tabindex", other === d ? 0 : -1));
      if (focused) d.dot.focus({ preventScroll: true });
    };
    const place = event => {
      const matrix = svg.getScreenCTM().inverse();
      return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    };
    const nearest = p => {
      const far = d => Math.hypot(point(d).x - p.x, (point(d).y - p.y) * 0.7);
      const found = dots.filter(visible).sort((a, b) => far(a) - far(b))[0];
      return found && far(found) < 60 ? found : null;
    };
    dots.forEach((d, i) => {
      d.dot.setAttribute("tabindex", i ? -1 : 0);
      d.dot.setAttribute("role", "img");
      d.dot.setAttribute("aria-label", d.says);
      d.dot.onfocus = () => at !== d && select(d, false);
      // The readout says it at once.
      d.dot.firstChild.remove();
    });
    svg.onkeydown = event => {
      if (event.key === "Escape") return view(null);
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !at) return;
      const seen = dots.filter(visible);
      select(seen[(seen.indexOf(at) + step + seen.length) % seen.length], true);
      event.preventDefault();
    };

    // A closer look: places of the drawing, moved and stretched.
    let parts = null;
    const collect = () => ["in", "xt", "yt"].flatMap(name => all(`g.${name} > *`, svg).map(element => {
      const names = { circle: ["cx", "cy"], text: ["x", "y"], rect: ["x", "y", "width", "height"] }[element.localName];
      const first = names ? names.map(n => Number(element.getAttribute(n))) : element.getAttribute("points").split(/[ ,]/).map(Number);
      return { element, name, names, first };
    }));
    const view = box => {
      select(null);
      svg.classList.toggle("zoomed", !!box);
      const [x0, x1, y0, y1] = box ?? [left, right, top, bottom];
      const [kx, ky] = [(right - left) / (x1 - x0), (bottom - top) / (y1 - y0)];
      const [x, y] = [v => left + (v - x0) * kx, v => top + (v - y0) * ky];
      parts ??= collect();
      for (const { element, name, names, first } of parts) {
        // The text of a tick stands 4 below its line.
        const below = name === "yt" && names ? 4 : 0;
        const across = name === "yt" ? v => v : x;
        const down = name === "xt" ? v => v : v => y(v - below) + below;
        const moved = first.map((v, i) => names && i > 1 ? v * (i === 2 ? kx : ky) : (i % 2 ? down : across)(v));
        if (names) names.forEach((n, i) => element.setAttribute(n, moved[i].toFixed(1)));
        else element.setAttribute("points", moved.map(v => v.toFixed(1)).join(" "));
        const beside = moved[0] < left - 1 || moved[0] > right + 1;
        const beyond = moved[1] < top - 1 || moved[1] > bottom + below + 1;
        const outside = { xt: beside, yt: beyond, in: (beside || beyond) && !!names && element.localName !== "rect" }[name];
        element.classList.toggle("gone", !!box && outside);
      }
      // Of texts that would touch the first stays.
      for (const [name, axis, gap] of [["xt", 0, 62], ["yt", 1, 14]]) {
        let taken = [];
        for (const part of parts.filter(p => p.name === name && p.element.localName === "text" && !p.element.classList.contains("gone"))) {
          const here = Number(part.element.getAttribute(part.names[axis]));
          const free = taken.every(other => Math.abs(other - here) >= gap);
          if (!free && box) part.element.classList.add("gone");
          else taken.push(here);
        }
      }
    };
    // The keyboard stays here when the point that had it is out of sight.
    svg.setAttribute("tabindex", -1);
    let from = null, lens = null;
    svg.onpointerdown = event => {
      const p = place(event);
      const near = p.x > left - 8 && p.x < right + 8 && p.y > top - 8 && p.y < bottom + 8;
      if (event.button || event.pointerType === "touch" || !near) return;
      from = p;
      lens = add(svg, "rect", { class: "lens" });
      svg.setPointerCapture(event.pointerId);
    };
    svg.onpointermove = event => {
      const p = place(event);
      if (!from) return select(nearest(p));
      p.x = Math.max(left, Math.min(p.x, right));
      p.y = Math.max(top, Math.min(p.y, bottom));
      const box = { x: Math.min(p.x, from.x), y: Math.min(p.y, from.y), width: Math.abs(p.x - from.x), height: Math.abs(p.y - from.y) };
      for (const name of Object.keys(box)) lens.setAttribute(name, box[name]);
    };
    svg.onpointerup = () => {
      if (!from) return;
      const [x, y, width, height] = ["x", "y", "width", "height"].map(name => Number(lens.getAttribute(name)));
      lens.remove();
      from = lens = null;
      // A flat stretch is one of sizes alone.
      svg.focus({ preventScroll: true });
      if (width > 12) view(height > 12 ? [x, x + width, y, y + height] : [x, x + width, top, bottom]);
    };
    svg.onpointercancel = () => { lens?.remove(); from = lens = null; };
    svg.ondblclick = () => view(null);
    svg.onpointerleave = () => !from && !svg.contains(document.activeElement) && select(null);
    all("input[data-line]", figure).forEach(input => {
      input.onchange = () => {
        select(null);
        all(`g[data-line="${input.dataset.line}"]`, svg).forEach(line => line.classList.toggle("off", !input.checked));
      };
    });
  };
  all("figure svg.plot").forEach(chart);
})();
