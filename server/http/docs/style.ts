/** The style of the documentation page: light and dark, for narrow and wide screens. */
export const DOCS_STYLE = `
:root { color-scheme: light dark;
  --paper: light-dark(#f8f5ee, #111214); --sheet: light-dark(#fffdf9, #18191c); --sunk: light-dark(#f1ece1, #202226);
  --line: light-dark(#e0d9ca, #2d3035); --text: light-dark(#1e1c19, #e9e6df); --muted: light-dark(#5e584e, #a7a49c);
  --accent: light-dark(#1f3f77, #a3bdf0); --good: light-dark(#22613a, #8ccf9f); --warn: light-dark(#7a4f00, #e0b768);
  --bad: light-dark(#98271f, #f2a097); }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; display: flex; flex-direction: column-reverse; justify-content: flex-end; background: var(--paper); color: var(--text);
  font: 0.9375rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.2em; }
code, pre { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "Liberation Mono", Menlo, Consolas, monospace; }
code { font-size: 0.8125rem; overflow-wrap: anywhere; }
h1, h2, h3 { font-family: "Iowan Old Style", Palatino, "URW Palladio L", Georgia, "Liberation Serif", serif; line-height: 1.25; }
h1 { font-size: 2.1rem; margin: 0 0 0.5rem; } h1 small { font-size: 1rem; font-weight: 400; color: var(--muted); }
h2 { font-size: 1.6rem; margin: 0; } h3 { font-size: 1.2rem; margin: 0 0 0.35rem; }
h3 a { color: inherit; text-decoration: none; } h3 a:hover { text-decoration: underline; }
h4 { margin: 1.1rem 0 0.35rem; font-size: 0.8125rem; color: var(--muted); font-weight: 600; }
p { margin: 0 0 0.75rem; max-width: 46rem; } .lead { color: var(--muted); }
main { padding: 2rem 1.25rem 6rem; max-width: 60rem; min-width: 0; }
main > section { margin-top: 3.5rem; }
article { margin-top: 1rem; padding: 1.1rem 1.25rem; background: var(--sheet); border: 1px solid var(--line); border-radius: 4px; }
article:target, li:target { outline: 2px solid var(--accent); outline-offset: 2px; }
.address { margin-bottom: 0.6rem; } .address code { font-size: 0.9375rem; }
.method { display: inline-block; min-width: 3.4em; font: 600 0.75rem/1.4 ui-monospace, "Liberation Mono", Menlo, monospace; color: var(--accent); }
.method.post, .method.put, .method.patch { color: var(--good); } .method.delete { color: var(--bad); }
.status { display: inline-block; min-width: 2.4em; font: 600 0.8125rem/1.4 ui-monospace, "Liberation Mono", Menlo, monospace; color: var(--warn); }
.answer .status { color: var(--good); } .answer p { margin-bottom: 0.25rem; } .answer + .answer { margin-top: 0.6rem; }
.headers, .may, .where, .rules { color: var(--muted); font-size: 0.8125rem; }
.rules::before { content: " · "; } .type { overflow-wrap: anywhere; } p.type { margin: 0; }
.name { font-weight: 600; }
ul.fields { list-style: none; margin: 0.35rem 0 0; padding: 0; border-top: 1px solid var(--line); }
ul.fields li { padding: 0.35rem 0; border-bottom: 1px solid var(--line); }
ul.fields ul.fields { margin: 0.35rem 0 0 1rem; } ul.fields ul.fields li:last-child { border-bottom: 0; padding-bottom: 0; }
ul.fields span.type { display: block; }
details, p.content { margin: 0.35rem 0; } summary { cursor: pointer; } main details > :not(summary) { margin-left: 1rem; }
.problems { margin-top: 1rem; } .problems ul { margin: 0.35rem 0; padding: 0; list-style: none; }
.problems summary, .problems li { font-size: 0.875rem; }
pre { margin: 0; padding: 0.75rem 0.9rem; background: var(--sunk); border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; }
ul.codes { list-style: none; padding: 0; } ul.codes li { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
.where { display: block; margin-left: 2.6rem; overflow-wrap: anywhere; }
nav { padding: 1rem 1.25rem 3rem; border-top: 1px solid var(--line); font-size: 0.8125rem; }
nav p { margin: 0.9rem 0 0.2rem; } nav p a { color: inherit; font-weight: 600; text-decoration: none; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; gap: 0.4rem; padding: 0.16rem 0; text-decoration: none; color: var(--muted); overflow-wrap: anywhere; }
nav li a .method { flex: none; font-size: 0.6875rem; min-width: 3.6em; } nav a:hover { color: var(--accent); }
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 21rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-top: 0; border-right: 1px solid var(--line); padding: 2rem 1.25rem; }
  main { padding: 2rem 3rem 8rem; } .to-contents { display: none; }
}
@media (max-width: 30rem) { main { padding: 1.25rem 0.75rem 4rem; } article { padding: 0.9rem; } }
@media print { nav { display: none; } article { break-inside: avoid-page; border: 0; padding: 0; } }
`;
