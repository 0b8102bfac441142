// How it went since the page was started. The library of the plots is loaded by the first look at them.
import { html, useState, useEffect, useRef } from '/preact.js';
import { span } from '/requests.js';

let library;
const load = () => library ??= new Promise((done, fail) => {
  document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/uplot.css' }));
  document.head.append(Object.assign(document.createElement('script'), { src: '/uplot.js', onload: () => done(window.uPlot), onerror: fail }));
});

// A sample: when, open requests, age of the oldest (s), longest wait until decided (s), chat queued, age of the oldest (s), the daemon's answer (ms)
const plots = [
  ['Open requests', [[1, 'open', '']]],
  ['How long requests wait, in seconds', [[2, 'the oldest open', 's'], [3, 'decided in between', 's']]],
  ['Chat that waits for the lead', [[4, 'messages', '']]],
  ['How long chat waits, in seconds', [[5, 'the oldest', 's']]],
  ['How long the daemon takes to answer, in milliseconds', [[6, 'answer', 'ms']]],
];

function Plot({ title, series, samples }) {
  const place = useRef();
  const plot = useRef();
  const data = () => [samples.map(one => one[0] / 1000), ...series.map(([at]) => samples.map(one => one[at]))];
  useEffect(() => {
    let gone = false;
    let sized;
    load().then(uPlot => {
      if (gone) return;
      const ink = getComputedStyle(document.documentElement);
      const colors = [ink.getPropertyValue('--accent'), ink.getPropertyValue('--warn')];
      const axis = { stroke: ink.getPropertyValue('--quiet'), grid: { stroke: ink.getPropertyValue('--line'), width: 1 }, ticks: { stroke: ink.getPropertyValue('--line') } };
      plot.current = new uPlot(
          {
            width: place.current.clientWidth,
            height: 180,
            axes: [axis, axis],
            series: [{}, ...series.map(([, label], at) => ({label, stroke: colors[at], width: 2}))],
            scales: {
              x: {range: (_, low, high) => [Math.min(low ?? 0, (high ?? 0) - 600), high ?? 1]},
              y: {range: (_, low, high) => [0, Math.max(high, 1)]}
            }
          },
          data(), place.current);
      sized = new ResizeObserver(() => plot.current.setSize({ width: place.current.clientWidth, height: 180 }));
      sized.observe(place.current);
    });
    return () => { gone = true; sized?.disconnect(); plot.current?.destroy(); };
  }, []);
  useEffect(() => { plot.current?.setData(data()); }, [samples]);
  const last = samples[samples.length - 1];
  const words = last ? series.map(([at, label, unit]) => `${label}: ${Math.round(last[at] * 10) / 10}${unit && ' ' + unit}, at most ${Math.round(Math.max(...samples.map(one => one[at])) * 10) / 10}`).join('; ') : 'no sample yet';
  return html`<section><h2>${title}</h2><p class="quiet">${words}</p><div class="plot" ref=${place} aria-hidden="true"></div></section>`;
}

export function Plots({ state }) {
  const seen = state.samples.length > 1 ? state.samples[state.samples.length - 1][0] - state.samples[0][0] : 0;
  return html`<h2 class="unseen">Plots</h2><p class="quiet">What this page's process has seen in the last ${span(seen)}: one sample in ten seconds, a day at most.</p>
    ${plots.map(([title, series]) => html`<${Plot} key=${title} title=${title} series=${series} samples=${state.samples} />`)}`;
}
