// How it went since the page was started. The library of the plots is loaded by the first look at them.
import { html, useState, useEffect, useRef } from '/preact.js';
import { span, count } from '/words.js';

let library;
const load = () => library ??= new Promise((done, fail) => {
  document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/uplot.css' }));
  document.head.append(Object.assign(document.createElement('script'), { src: '/uplot.js', onload: () => done(window.uPlot), onerror: fail }));
});

const seconds = value => span(value * 1000);
const whole = value => String(Math.round(value));
const ms = value => (value < 10 ? Math.round(value * 10) / 10 : Math.round(value)) + ' ms';
// A sample: when, open requests, age of the oldest (s), longest wait until decided (s), chat queued, age of the oldest (s), the daemon's answer (ms)
const plots = [
  { title: 'Open requests', series: [[1, 'open']], text: whole, sentence: (now, most) => `${count(now, 'request is', 'requests are')} open; the most at once was ${most}.` },
  { title: 'How long requests wait', series: [[2, 'oldest open'], [3, 'longest decided']], text: seconds,
    sentence: (now, most) => `The oldest open request waits for ${now}; the longest wait was ${most}.` },
  { title: 'Chat for the lead', series: [[4, 'messages']], text: whole, sentence: (now, most) => `${count(now, 'message waits', 'messages wait')} for the lead; the most at once was ${most}.` },
  { title: 'How long chat waits', series: [[5, 'oldest']], text: seconds, sentence: (now, most) => `The oldest message waits for ${now}; the longest wait was ${most}.` },
  { title: 'How fast the daemon answers', series: [[6, 'answer']], text: ms, sentence: (now, most) => `The last answer took ${now}; the slowest took ${most}.` },
];
const height = 160;
const font = '13px system-ui, sans-serif';
const two = number => String(number).padStart(2, '0');
const clock = at => { const time = new Date(at * 1000); return two(time.getHours()) + ':' + two(time.getMinutes()); };
// Steps of an axis of seconds that read well: 1s, 5s, 10s, 30s, 1m, 5m, ...
const steps_s = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];

function Plot({ plot, samples }) {
  const { title, series, text, sentence } = plot;
  const place = useRef();
  const drawn = useRef();
  const data = () => [samples.map(one => one[0] / 1000), ...series.map(([at]) => samples.map(one => one[at]))];
  useEffect(() => {
    let gone = false;
    let sized;
    load().then(uPlot => {
      if (gone) return;
      const style = getComputedStyle(document.documentElement);
      const color = name => style.getPropertyValue(name).trim();
      const axis = { font, stroke: color('--ink'), grid: { stroke: color('--line'), width: 1 }, ticks: { stroke: color('--line') } };
      const y = { ...axis, size: 64, values: (_, ticks) => ticks.map(text), ...(text === seconds ? { incrs: steps_s } : text === whole ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] } : {}) };
      drawn.current = new uPlot({
        width: place.current.clientWidth, height,
        legend: { show: series.length > 1, live: false }, cursor: { show: false },
        axes: [{ ...axis, space: 70, size: 34, values: (_, ticks) => ticks.map(clock) }, y],
        series: [{}, ...series.map(([, label], at) => ({ label, stroke: color(['--accent', '--warn'][at]), width: 2, dash: at ? [6, 4] : [], points: { show: false } }))],
        scales: { x: { range: (_, low, high) => [Math.min(low ?? 0, (high ?? 0) - 300), high ?? 1] }, y: { range: (_, low, high) => [0, Math.max(high * 1.1, text === seconds ? 10 : 4)] } },
      }, data(), place.current);
      sized = new ResizeObserver(() => drawn.current.setSize({ width: place.current.clientWidth, height }));
      sized.observe(place.current);
    });
    return () => { gone = true; sized?.disconnect(); drawn.current?.destroy(); };
  }, []);
  useEffect(() => { drawn.current?.setData(data()); }, [samples]);
  const last = samples[samples.length - 1];
  const say = value => text === whole ? value : text(value);
  const most = Math.max(0, ...series.flatMap(([at]) => samples.map(one => one[at])));
  return html`<section class="panel"><h2>${title}</h2><p>${last ? sentence(say(last[series[0][0]]), say(most)) : 'There is no sample yet; the first comes within ten seconds.'}</p><div class="plot" ref=${place} aria-hidden="true"></div></section>`;
}

export function Plots({ state }) {
  const seen = state.samples.length > 1 ? state.samples[state.samples.length - 1][0] - state.samples[0][0] : 0;
  return html`<p class="quiet">The last ${span(seen)}: a sample every ten seconds since this page was started, a day at most.</p>
    <div class="plots">${plots.map(plot => html`<${Plot} key=${plot.title} plot=${plot} samples=${state.samples} />`)}</div>`;
}
