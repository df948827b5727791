(() => {
  "use strict";
  const charts = document.querySelectorAll("figure[data-chart]");
  if (!unpack || !("IntersectionObserver" in window)) return;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children);
    return element;
  };

  /* The library and what it draws: unpacked when the first figure is looked at. */
  let loading = null;
  const load = () => {
    loading ??= (async () => {
      const [library, figures] = await Promise.all([unpack("library"), unpack("figures")]);
      const script = make("script");
      script.textContent = library;
      document.head.append(script);
      return { embed: window.netstudyEmbed, figures: JSON.parse(figures) };
    })();
    return loading;
  };

  /* Tooltips */
  const tip = document.body.appendChild(make("div", { class: "tip", role: "tooltip", hidden: "" }));
  const text = (value, decimals) =>
    typeof value !== "number"
      ? String(value)
      : value.toLocaleString("en", {
          minimumFractionDigits: decimals,
          maximumFractionDigits: Math.abs(value) < 10 ** -decimals && value ? decimals + 4 : decimals,
        });
  const told = (chart, row) => {
    const { decimals } = chart;
    const lines = [];
    const add = (name, value) => value !== undefined && value !== "" && lines.push([name, value]);
    add("", row.panel ?? row.facet);
    add("", row.series);
    const pair = (low, high) => `${text(low, decimals)} to ${text(high, decimals)}`;
    if (row.kind === "box") {
      add(chart.x, row.x);
      add("median", text(row.median, decimals));
      add("quartiles", pair(row.first, row.third));
      add("5th to 95th percentile", pair(row.low, row.high));
      if (row.tail !== undefined) add("99th percentile", text(row.tail, decimals));
      return lines;
    }
    if (row.kind === "bar") {
      add(chart.x, `${text(row.x, 3)} to ${text(row.x2, 3)}`);
      add(chart.y, text(row.y2 - row.y, decimals));
      return lines;
    }
    add(chart.x, row.level ?? (row.x === undefined ? row.x : text(row.x, Number.isInteger(row.x) ? 0 : 3)));
    if (row.text !== undefined && row.y === undefined) add("", row.text);
    else if (row.kind === undefined || row.facet !== undefined) { add(chart.y, row.y); add("", row.text); }
    else add(row.unit ?? chart.y, text(row.y, decimals));
    if (row.low !== undefined) add("95 % interval", `${text(row.low, decimals)} to ${text(row.high, decimals)}`);
    add("runs", row.n);
    return lines;
  };
  const show = (chart, event, value) => {
    tip.hidden = value === null || value === undefined || typeof value !== "object";
    if (tip.hidden) return;
    tip.replaceChildren(
      ...told(chart, value).map(([name, found]) =>
        make("div", {}, name ? `${name}: ` : "", make(name ? "b" : "strong", {}, String(found)))),
    );
    const point = event.changedTouches ? event.changedTouches[0] : event;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(4, Math.min(point.clientX + 14, room))}px`;
    tip.style.top = `${Math.max(4, point.clientY - tip.offsetHeight - 12)}px`;
  };

  /* Zoom: axes keep the fraction under the pointer where it is. */
  const scaled = (scale, turn) => {
    const [a, b] = scale.domain();
    const log = scale.type === "log";
    const [from, to] = log ? [Math.log(a), Math.log(b)] : [a, b];
    const ends = [from + turn[0] * (to - from), from + turn[1] * (to - from)];
    return log ? ends.map(Math.exp) : ends;
  };
  const zoom = (chart, turns) => {
    const { view, axes } = chart;
    view.signal("zoomed", true);
    axes.forEach((axis) => view.signal(`zoom_${axis}`, scaled(view.scale(axis), turns[axis])));
    view.runAsync();
  };
  const about = (at, factor) => [at - at * factor, at + (1 - at) * factor];
  const plotAt = (chart, event) => {
    const plots = [...chart.box.querySelectorAll("path.background")].map((p) => p.getBoundingClientRect());
    return plots.find((r) => r.width > 40 && event.clientX >= r.left && event.clientX <= r.right
      && event.clientY >= r.top && event.clientY <= r.bottom && r.width < chart.box.clientWidth * 0.999);
  };
  const zoomable = (chart) => {
    const { box } = chart;
    box.addEventListener("wheel", (event) => {
      const plot = (event.ctrlKey || event.shiftKey || event.metaKey) && plotAt(chart, event);
      if (!plot) return;
      event.preventDefault();
      const factor = (event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8;
      zoom(chart, {
        x: about((event.clientX - plot.left) / plot.width, factor),
        y: about((plot.bottom - event.clientY) / plot.height, factor),
      });
    }, { passive: false });
    box.addEventListener("pointerdown", (event) => {
      const plot = plotAt(chart, event);
      if (!plot || event.button !== 0) return;
      let last = event;
      const move = (next) => {
        const dx = (last.clientX - next.clientX) / plot.width;
        const dy = (next.clientY - last.clientY) / plot.height;
        last = next;
        if (dx || dy) zoom(chart, { x: [dx, 1 + dx], y: [dy, 1 + dy] });
      };
      const end = () => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", end);
        removeEventListener("pointercancel", end);
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
      addEventListener("pointercancel", end);
      if (event.pointerType === "mouse") event.preventDefault();
    });
    box.addEventListener("dblclick", () => reset(chart));
  };
  const reset = (chart) => {
    ["zoom_x", "zoom_y"].forEach((name) => chart.view.signal(name, null));
    chart.view.signal("zoomed", false).runAsync();
  };

  /* What a reader may change, below the figure */
  const SHAPES = {
    circle: "M9 5a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
    square: "M9.5 2h6v6h-6z", "triangle-up": "M12.5 1.5l4 7h-8z", diamond: "M12.5 .8l3 4.2l-3 4.2l-3 -4.2z",
    cross: "M11.3 1.5h2.4v2.3h2.3v2.4h-2.3v2.3h-2.4v-2.3h-2.3v-2.4h2.3z",
    "triangle-down": "M12.5 8.5l4 -7h-8z", stroke: "M9 5h7",
  };
  const swatch = (one) => {
    const dash = one.dash[1] ? ` stroke-dasharray="${one.dash}"` : "";
    const holder = make("span", { class: "swatch", "aria-hidden": "true" });
    holder.innerHTML = `<svg width="25" height="10" viewBox="0 0 25 10"><path d="M0 5h25" stroke="${one.ink}" stroke-width="2"${dash}/>`
      + `<path d="${SHAPES[one.symbol]}" fill="${one.fill}" stroke="${one.ink}" stroke-width="1.5"/></svg>`;
    return holder;
  };
  const toggle = (chart, button, name) => {
    const { hidden } = chart;
    if (!hidden.delete(name)) hidden.add(name);
    button.setAttribute("aria-pressed", String(!hidden.has(name)));
    chart.view.signal("hidden", [...hidden]).runAsync();
  };
  const tools = (chart) => {
    const bar = make("div", { class: "tools", role: "group", "aria-label": "Look into the figure" });
    if (chart.series.length > 1) {
      chart.series.forEach((one) => {
        const button = make("button", { type: "button", class: "series", "aria-pressed": "true",
          title: "switch this series off or on" }, swatch(one), one.name);
        button.addEventListener("click", () => toggle(chart, button, one.name));
        bar.append(button);
      });
    }
    chart.filters.forEach((filter) => {
      const choice = make("select", { name: filter.factor }, make("option", { value: "" }, filter.first),
        ...filter.levels.map((level) => make("option", { value: level }, level)));
      choice.addEventListener("change", () => {
        chart.chosen[filter.signal] = choice.value;
        chart.view.signal(filter.signal, choice.value).runAsync();
      });
      bar.append(make("label", {}, `${filter.factor} `, choice));
    });
    if (chart.axes.length) {
      [["+", "zoom in", 0.7], ["−", "zoom out", 1 / 0.7]].forEach(([sign, name, factor]) => {
        const button = make("button", { type: "button", "aria-label": name, title: `${name} (or Ctrl and the wheel; drag to move)` }, sign);
        button.addEventListener("click", () => zoom(chart, { x: about(0.5, factor), y: about(0, factor) }));
        bar.append(button);
      });
      const back = make("button", { type: "button", title: "the axes as they were" }, "Reset");
      back.addEventListener("click", () => reset(chart));
      bar.append(back);
    }
    return bar.childElementCount ? bar : "";
  };

  /* Drawing */
  const phone = matchMedia("(max-width: 44rem)");
  const draw = async (chart) => {
    const { embed } = await load();
    const spec = { ...(phone.matches ? chart.narrow : chart.wide), datasets: { values: chart.rows } };
    const fresh = make("div");
    const { view } = await embed(fresh, spec, {
      mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, hover: false,
      tooltip: (_handler, event, _item, value) => show(chart, event, value),
    });
    view.signal("hidden", [...chart.hidden]);
    Object.entries(chart.chosen).forEach(([name, value]) => view.signal(name, value));
    await view.runAsync();
    chart.view?.finalize();
    chart.view = view;
    chart.box.replaceChildren(fresh);
    const drawing = chart.box.querySelector("svg");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", chart.label);
  };
  const enliven = async (figure) => {
    if (figure.chart) return;
    const found = (await load()).figures[figure.dataset.chart];
    const label = figure.querySelector("svg").getAttribute("aria-label");
    const box = make("div", { class: "live" });
    const chart = { ...found, label, box, hidden: new Set(), chosen: {} };
    figure.chart = chart;
    figure.querySelector(".still").after(box);
    await draw(chart);
    box.after(tools(chart));
    if (chart.axes.length) zoomable(chart);
    figure.classList.add("is-live");
  };
  phone.addEventListener("change", () => {
    charts.forEach((figure) => figure.chart?.view && draw(figure.chart));
  });

  /* One after the other, when the page has nothing else to do: seen first, or pointed at. */
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
  const waiting = [];
  let busy = false;
  const next = () => {
    if (busy || !waiting.length) return;
    busy = true;
    idle(async () => {
      const figure = waiting.shift();
      try { await enliven(figure); } finally { busy = false; }
      next();
    });
  };
  const want = (figure, soon) => {
    if (figure.chart || (waiting.includes(figure) && !soon)) return;
    waiting[soon ? "unshift" : "push"](figure);
    next();
  };
  const seen = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      seen.unobserve(entry.target);
      want(entry.target, false);
    });
  }, { rootMargin: "100px" });
  charts.forEach((figure) => {
    seen.observe(figure);
    figure.addEventListener("pointerenter", () => want(figure, true), { once: true });
  });
})();
