"use strict";
// Any two things beside each other: two machines in a table, two metrics as points, curves of many
// in one plot. What is shown is in the address, so that a link to it can be sent. Values come from
// the files in data/, each of which calls groma.push.
(() => {
  const form = document.getElementById("choose"), shown = document.getElementById("shown");
  if (!form) return;
  const SVG = "http://www.w3.org/2000/svg";
  const add = (parent, name, attributes = {}, text = "") => {
    const svg = name === "svg" || parent.namespaceURI === SVG;
    const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const key of Object.keys(attributes)) element.setAttribute(key, attributes[key]);
    element.textContent = text;
    return parent.appendChild(element);
  };

  // What the files in data/ hand over, and who waits for it.
  const got = new Map(), waiting = new Map();
  const take = ([kind, ...values]) => {
    const name = kind === "index" ? "index" : kind === "line" ? `line-${values[0]}` : values[0];
    got.set(name, kind === "index" ? values[0] : values.slice(1));
    waiting.get(name)?.();
  };
  (window.groma ?? []).forEach(take);
  window.groma = { push: take };
  const load = name => got.has(name) ? Promise.resolve(got.get(name)) : new Promise((done, failed) => {
    waiting.set(name, () => done(got.get(name)));
    const script = add(document.head, "script", {});
    script.onerror = () => failed(new Error(`data/${name}.js is missing`));
    script.src = `data/${name}.js`;
  });

  const { units, lines, machines } = got.get("index");
  const lineOf = new Map(lines.map(line => [line[0], line]));
  const at = key => machines.findIndex(machine => machine[0] === key);
  const said = (value, scale, digits = 3) => {
    const [unit, name] = units[scale].find(([unit]) => Math.abs(value / unit) >= 0.9995) ?? units[scale].at(-1);
    const scaled = value / unit;
    const rounded = scaled ? Number(scaled.toPrecision(digits)) : 0;
    return rounded.toLocaleString("en", { maximumSignificantDigits: digits, useGrouping: false }) + name;
  };

  // Sizes have ticks at powers of two.
  const sizes = units.findIndex(names => names.some(([, name]) => name === " KiB"));

  // What is chosen: a mode, machines, two lines, a curve.
  const curves = [...new Set(machines.flatMap(machine => machine[5]))].sort();
  const modes = { machines: "two machines", metrics: "two metrics", curves: "curves of many" };
  const curve = curves.includes("mem.latency") ? "mem.latency" : curves[0];
  const state = { mode: "machines", a: 0, b: 1, x: lines[0]?.[0], y: lines[1]?.[0], curve, of: [] };
  const read = () => {
    const words = new URLSearchParams(location.hash.slice(1));
    const index = (name, otherwise) => { const i = at(words.get(name)); return i < 0 ? otherwise : i; };
    if (words.get("machines")) {
      const first = index("machines", 0);
      Object.assign(state, { mode: "machines", a: first, b: index("and", first ? 0 : 1) });
    }
    if (words.get("x")) {
      Object.assign(state, { mode: "metrics", x: Number(words.get("x")), y: Number(words.get("y") ?? state.y) });
    }
    if (words.get("curve")) {
      const of = (words.get("of") ?? "").split(",").map(at).filter(i => i >= 0);
      Object.assign(state, { mode: "curves", curve: words.get("curve"), of });
    }
  };
  const write = () => {
    const words = {
      machines: () => `machines=${machines[state.a]?.[0]}&and=${machines[state.b]?.[0]}`,
      metrics: () => `x=${state.x}&y=${state.y}`,
      curves: () => `curve=${state.curve}&of=${state.of.map(i => machines[i][0]).join(",")}`,
    }[state.mode]();
    history.replaceState(null, "", "#" + words);
  };

  // Saves what is shown.
  const save = (parent, name, type, content) => {
    const button = add(parent, "button", { type: "button" }, `Save as ${name.split(".").at(-1).toUpperCase()}`);
    button.onclick = () => {
      const href = URL.createObjectURL(new Blob([content()], { type }));
      const link = add(document.body, "a", { download: name, href });
      link.click();
      link.remove();
    };
  };
  const field = cell => /[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell;
  const csv = rows => rows.map(row => row.map(field).join(",")).join("\n") + "\n";

  // A plane with logarithmic axes.
  const WIDTH = 860, HEIGHT = 480, LEFT = 86, RIGHT = 20, TOP = 14, BOTTOM = 52;
  const axis = (values, from, to, doubling) => {
    const [low, high] = [Math.min(...values) / 1.15, Math.max(...values) * 1.15];
    const place = v => from + Math.log(v / low) / Math.log(high / low) * (to - from);
    const decades = Math.log10(high / low);
    const steps = decades > 3 ? [1] : decades > 1 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
    let ticks = [];
    if (doubling) {
      for (let e = Math.ceil(Math.log2(low)); e <= Math.log2(high); e++) ticks.push(2 ** e);
    } else {
      const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
      for (let e = from; e <= to; e++) ticks.push(...steps.map(s => s * 10 ** e));
    }
    ticks = ticks.filter(t => t >= low && t <= high);
    const every = Math.ceil(ticks.length / 7);
    return { place, ticks: ticks.filter((_, i) => i % every === 0) };
  };
  const plane = (parent, label, xs, ys, xScale, yScale, xLabel, yLabel) => {
    const figure = add(parent, "figure");
    const viewBox = `0 0 ${WIDTH} ${HEIGHT}`;
    const about = { class: "plot", viewBox, role: "group", "aria-label": label };
    const svg = add(add(figure, "div", { class: "wide" }), "svg", about);
    const x = axis(xs, LEFT, WIDTH - RIGHT, xScale === sizes), y = axis(ys, HEIGHT - BOTTOM, TOP);
    for (const t of y.ticks) {
      const at = y.place(t).toFixed(1);
      add(svg, "polyline", { class: "g", points: `${LEFT},${at} ${WIDTH - RIGHT},${at}` });
      add(svg, "text", { class: "f right", x: LEFT - 8, y: (y.place(t) + 4).toFixed(1) }, said(t, yScale));
    }
    for (const t of x.ticks) {
      add(svg, "text", { class: "f mid", x: x.place(t).toFixed(1), y: HEIGHT - BOTTOM + 18 }, said(t, xScale));
    }
    add(svg, "text", { class: "f mid", x: (WIDTH + LEFT) / 2, y: HEIGHT - 12 }, xLabel);
    add(figure, "figcaption", { class: "note" }, yLabel).parentNode.prepend(figure.lastChild);
    const readout = add(figure, "div", { class: "readout", role: "status", hidden: "" });
    const dot = (px, py, colour, says, href) => {
      const holder = href ? add(svg, "a", { href }) : svg;
      const place = { cx: x.place(px).toFixed(1), cy: y.place(py).toFixed(1), r: 4.5 };
      // A link has the focus itself.
      const alone = href ? {} : { tabindex: 0, role: "img" };
      const circle = add(holder, "circle", { class: colour, ...place, "aria-label": says, ...alone });
      const show = () => {
        readout.hidden = false;
        readout.textContent = says;
        const [box, own] = [circle.getBoundingClientRect(), figure.getBoundingClientRect()];
        const room = own.width - readout.offsetWidth - 4;
        readout.style.left = Math.max(0, Math.min(box.left - own.left + 12, room)) + "px";
        readout.style.top = box.top - own.top - readout.offsetHeight - 8 + "px";
      };
      const hide = () => { readout.hidden = true; };
      Object.assign(circle, { onpointerenter: show, onpointerleave: hide, onfocus: show, onblur: hide });
      if (href) Object.assign(holder, { onfocus: show, onblur: hide });
      return circle;
    };
    return { svg, x, y, dot, figure };
  };
  const file = svg => {
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", SVG);
    const own = [...svg.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((element, i) => {
      const style = getComputedStyle(own[i]);
      for (const name of ["fill", "stroke", "font", "color", "text-anchor"]) {
        element.style.setProperty(name, style.getPropertyValue(name));
      }
    });
    return new XMLSerializer().serializeToString(copy);
  };

  const table = (parent, heads, rows, of) => {
    const whole = add(add(parent, "div", { class: "wide" }), "table", { class: "data beside" });
    const head = add(add(whole, "thead"), "tr");
    const body = add(whole, "tbody");
    const draw = () => {
      body.replaceChildren();
      for (const row of rows) {
        const tr = add(body, "tr");
        row.cells.forEach((cell, i) => {
          const about = i ? { class: cell.light ? "n imprecise" : "n" } : { scope: "row" };
          const element = add(tr, i ? "td" : "th", about, cell.href ? "" : cell.text);
          if (cell.href) add(element, "a", { href: cell.href }, cell.text);
        });
      }
    };
    heads.forEach((text, i) => {
      const th = add(head, "th", { scope: "col", class: i ? "n" : "", "aria-sort": "none" });
      add(th, "button", { type: "button" }, text).onclick = () => {
        const down = th.getAttribute("aria-sort") === "ascending";
        for (const other of head.children) other.setAttribute("aria-sort", "none");
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = row => row.cells[i].value ?? row.cells[i].text;
        const order = (a, b) => typeof a === "number" ? a - b : String(a).localeCompare(String(b));
        rows.sort((a, b) => order(key(a), key(b)) * (down ? -1 : 1));
        draw();
      };
    });
    draw();
    const plain = row => row.cells.map(cell => cell.value ?? cell.text);
    save(parent, `${of}.csv`, "text/csv", () => csv([heads, ...rows.map(plain)]));
  };

  const link = machine => `machines/${machine[0]}.html`;
  const show = {
    async machines() {
      const [a, b] = [machines[state.a], machines[state.b]];
      if (!a || !b) return add(shown, "p", {}, "There are no two machines here.");
      const [[ours], [theirs]] = await Promise.all([load(a[0]), load(b[0])]);
      const second = new Map(theirs.map(value => [value[0], value]));
      const rows = [];
      let apart = 0;
      for (const [line, value, ends, light] of ours) {
        const other = second.get(line);
        if (!other || !(value > 0) || !(other[1] > 0)) continue;
        const [, name, , scale, better, href] = lineOf.get(line);
        const ratio = other[1] / value;
        // Intervals that touch say nothing.
        const open = !ends || !other[2] || (ends[0] <= other[2][1] && other[2][0] <= ends[1]);
        const by = (ratio > 1) === (better === "lower") ? "slower" : "faster";
        const word = open ? "?" : better === "neither" ? "≠" : by;
        apart += word === "slower" || word === "faster";
        const cells = [
          { text: name, href },
          { text: said(value, scale), value, light },
          { text: said(other[1], scale), value: other[1], light: other[3] },
          { text: ratio.toFixed(2) + " ×", value: ratio },
          { text: word },
        ];
        rows.push({ by: Math.abs(Math.log(ratio)), cells });
      }
      rows.sort((x, y) => y.by - x.by);
      const p = add(shown, "p", {}, "");
      add(p, "a", { href: link(b) }, b[1]);
      p.append(" beside ");
      add(p, "a", { href: link(a) }, a[1]);
      p.append(`: ${rows.length} metrics of both, ${apart} whose intervals lie apart; "?" marks the others. `
        + "groma compare says how much of a difference two runs of one machine show.");
      table(shown, ["metric", a[1], b[1], "second / first", "second is"], rows, `${a[0]}-${b[0]}`);
    },
    async metrics() {
      const [x, y] = [state.x, state.y].map(line => lineOf.get(line));
      if (!x || !y) return add(shown, "p", {}, "There are no two metrics here.");
      const [[xs], [ys]] = await Promise.all([load(`line-${x[0]}`), load(`line-${y[0]}`)]);
      const second = new Map(ys.map(value => [value[0], value]));
      const both = [];
      for (const [machine, value, , light] of xs) {
        const other = second.get(machine);
        if (value > 0 && other?.[1] > 0) both.push([machine, value, other[1], light || other[3]]);
      }
      const p = add(shown, "p", {}, `${both.length} machines have both: `);
      add(p, "a", { href: x[5] }, x[1]);
      p.append(" across, ");
      add(p, "a", { href: y[5] }, y[1]);
      p.append(" up. A point leads to its machine; paler ones are imprecise.");
      if (!both.length) return;
      const [across, up] = [1, 2].map(i => both.map(v => v[i]));
      const { svg, dot } = plane(shown, `${y[1]} over ${x[1]}`, across, up, x[3], y[3], x[1], y[1]);
      const kinds = { measured: "l0", reference: "l2", lmbench: "l3", printed: "l1" };
      for (const [machine, vx, vy, light] of both) {
        const of = machines[machine];
        const circle = dot(vx, vy, kinds[of[4]], `${of[1]}: ${said(vx, x[3])}, ${said(vy, y[3])}`, link(of));
        if (light) circle.style.opacity = 0.45;
      }
      const key = add(shown, "p", { class: "note" });
      for (const kind of Object.keys(kinds)) {
        if (!both.some(([machine]) => machines[machine][4] === kind)) continue;
        add(key, "span", { class: `key ${kinds[kind]}` });
        key.append(kind + " ");
      }
      const rows = both.map(([machine, vx, vy]) => ({ cells: [
        { text: machines[machine][1], href: link(machines[machine]) },
        { text: said(vx, x[3]), value: vx },
        { text: said(vy, y[3]), value: vy },
      ] }));
      save(shown, "plot.svg", "image/svg+xml", () => file(svg));
      table(shown, ["machine", x[1], y[1]], rows, "metrics");
    },
    async curves() {
      const has = machines.map((machine, i) => i).filter(i => machines[i][5].includes(state.curve));
      const of = (state.of.length ? state.of : has.slice(0, 4)).filter(i => has.includes(i)).slice(0, 10);
      if (!of.length) return add(shown, "p", {}, "No machine here has a curve.");
      const all = await Promise.all(of.map(async i => [i, (await load(machines[i][0]))[1][state.curve]]));
      const line = lines.find(line => line[2] === state.curve);
      const scale = line ? line[3] : 0, points = all.flatMap(([, curve]) => curve.points);
      const counts = units.findIndex(names => names[0][1] === "");
      const over = all[0][1].over, xScale = /size|working_set|length/.test(over) ? sizes : counts;
      const [label, by] = [`${state.curve} of ${of.length} machines`, `${state.curve} by ${over}`];
      const [across, up] = [points.map(p => p[0] || 1), points.map(p => p[1])];
      const { svg, x, y, dot } = plane(shown, label, across, up, xScale, scale, over, by);
      const key = add(shown, "p", { class: "note" });
      all.forEach(([i, curve], n) => {
        const colour = `l${n % 9}`, places = curve.points.filter(p => p[0] > 0 && p[1] > 0);
        const line = places.map(p => `${x.place(p[0]).toFixed(1)},${y.place(p[1]).toFixed(1)}`).join(" ");
        const dashed = n > 8 ? { "stroke-dasharray": "6 3" } : {};
        add(svg, "polyline", { class: colour, "stroke-width": 1.8, ...dashed, points: line });
        for (const [px, py] of places) {
          dot(px, py, colour, `${machines[i][1]}: ${said(px, xScale)}, ${said(py, scale)}`).setAttribute("r", 3);
        }
        add(key, "span", { class: `key ${colour}` });
        add(key, "a", { href: link(machines[i]) }, machines[i][1]);
        key.append(" ");
      });
      save(shown, "plot.svg", "image/svg+xml", () => file(svg));
      const rows = all.flatMap(([i, curve]) => curve.points.map(p => [machines[i][1], ...p]));
      save(shown, `${state.curve}.csv`, "text/csv", () => csv([["machine", over, "value"], ...rows]));
    },
  };

  const select = (name, options, chosen, change, more = {}) => {
    const box = add(add(form, "label", {}, name), "select", more);
    for (const [value, text] of options) {
      const option = add(box, "option", { value }, text);
      option.selected = Array.isArray(chosen) ? chosen.includes(value) : value === chosen;
    }
    box.onchange = () => change(box);
  };
  let turn = 0;
  const draw = async () => {
    const mine = ++turn;
    form.replaceChildren();
    select("Show", Object.entries(modes), state.mode, box => { state.mode = box.value; renew(); });
    const named = machines.map((machine, i) => [i, `${machine[1]}${machine[3] ? ", " + machine[3] : ""}`]);
    const ofLines = lines.map(line => [line[0], `${line[1]} (${line[2]})`]);
    if (state.mode === "machines") {
      select("First", named, state.a, box => { state.a = Number(box.value); renew(); });
      select("Second", named, state.b, box => { state.b = Number(box.value); renew(); });
    } else if (state.mode === "metrics") {
      select("Across", ofLines, state.x, box => { state.x = Number(box.value); renew(); });
      select("Up", ofLines, state.y, box => { state.y = Number(box.value); renew(); });
    } else {
      select("Curve", curves.map(id => [id, id]), state.curve, box => { state.curve = box.value; renew(); });
      const has = named.filter(([i]) => machines[i][5].includes(state.curve));
      const take = box => { state.of = [...box.selectedOptions].map(option => Number(option.value)); renew(); };
      select("Machines, up to ten (Ctrl adds one)", has, state.of, take, { multiple: "", size: 8 });
    }
    shown.replaceChildren();
    try {
      await show[state.mode]();
    } catch (error) {
      if (mine === turn) add(shown, "p", { class: "bad" }, error.message);
    }
  };
  const renew = () => { write(); draw(); };
  form.onsubmit = event => event.preventDefault();
  addEventListener("hashchange", () => { read(); draw(); });
  read();
  draw();
})();
