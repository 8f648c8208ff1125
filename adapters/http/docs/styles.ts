/** The style of the documentation. Two palettes, one layout, no image and no font from elsewhere. */
export const styles = `
:root {
  color-scheme: light dark;
  --paper: #fffdf9; --ink: #24211c; --quiet: #5f594e; --line: #ddd6c8; --panel: #f6f1e7; --link: #0b5a86; --focus: #b4410e;
  --get: #1b6435; --post: #0b5a86; --put: #7a4b00; --patch: #7a4b00; --delete: #a3271b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #1b1916; --ink: #eee8dc; --quiet: #b9b1a2; --line: #3d3931; --panel: #26231e; --link: #8ecbf0; --focus: #ffb07c;
    --get: #8fd6a6; --post: #8ecbf0; --put: #f0c777; --patch: #f0c777; --delete: #ffa79c;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
h1, h2, h3 { font-family: Georgia, 'Times New Roman', serif; line-height: 1.2; font-weight: 600; }
h1 { font-size: 2.2rem; margin: 0 0 1rem; }
h2 { font-size: 1.6rem; margin: 3rem 0 1rem; }
h3 { font-size: 1.25rem; margin: 0 0 0.5rem; }
h4 { margin: 1.5rem 0 0.5rem; }
a { color: var(--link); text-underline-offset: 0.15em; }
code, pre, textarea, input { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.9em; overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: 0.5rem 1rem; z-index: 1; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.columns { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 80rem; margin: 0 auto; }
.columns > nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem; border-right: 1px solid var(--line); font-size: 0.92rem; }
.columns > nav ul { list-style: none; margin: 0; padding: 0; }
.columns > nav li a { display: block; padding: 0.2rem 0; text-decoration: none; }
.columns > nav li a:hover { text-decoration: underline; }
.brand { font: 600 1.05rem Georgia, serif; margin: 0 0 1rem; }
.menu > summary { display: none; }
.group { margin: 1.2rem 0 0.2rem; color: var(--quiet); font-weight: 600; }
main { padding: 2.5rem; min-width: 0; }
main p, main > section > ul:not(.codes) { max-width: 48rem; }
main.narrow { max-width: 44rem; margin: 0 auto; }
.narrow h2 { font-size: 1.25rem; margin: 2rem 0 0.5rem; }
.narrow h2 + p { margin-top: 0; }
.bar { padding: 1rem 2.5rem; border-bottom: 1px solid var(--line); font-family: Georgia, serif; }
.eyebrow { color: var(--quiet); margin: 0; }
.operation { border: 1px solid var(--line); border-radius: 0.6rem; padding: 1.5rem; margin: 0 0 1.5rem; }
.signature { margin: 0 0 0.75rem; }
.method { font-weight: 700; font-size: 0.85rem; letter-spacing: 0.04em; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.8rem 0.4rem 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--quiet); font-weight: 600; }
tbody th { font-weight: 400; }
tbody th code { white-space: nowrap; }
td:last-child { min-width: 14rem; }
#authentication h3 { margin-top: 2rem; }
.codes { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; margin: 0.5rem 0; }
.codes span { color: var(--quiet); font-size: 0.85rem; }
.try { margin-top: 1.25rem; background: var(--panel); border-radius: 0.5rem; padding: 0.6rem 1rem; }
summary { cursor: pointer; font-weight: 600; }
form label { display: block; margin: 0.9rem 0 0.25rem; }
input, textarea { width: 100%; padding: 0.5rem; color: inherit; background: var(--paper); border: 1px solid var(--quiet); border-radius: 0.35rem; }
textarea { resize: vertical; }
button { margin: 1rem 0 0.5rem; padding: 0.55rem 1.2rem; font: inherit; font-weight: 600; color: var(--paper); background: var(--link); border: 0; border-radius: 0.35rem; cursor: pointer; }
button:disabled { opacity: 0.6; cursor: wait; }
.copy { display: block; margin: 0 0 0.3rem auto; padding: 0.15rem 0.7rem; font-size: 0.85rem; color: var(--link); background: none; border: 1px solid var(--line); }
.copy + pre { margin-top: 0; }
section > ul:not(.codes) li { margin: 0.4rem 0; }
.note { border-left: 4px solid var(--focus); padding-left: 0.8rem; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 0.35rem; padding: 0.8rem; overflow: auto; max-height: 28rem; white-space: pre-wrap; }
.try pre { background: var(--paper); }
@media (max-width: 52rem) {
  .columns { grid-template-columns: minmax(0, 1fr); }
  .columns > nav { position: static; height: auto; max-height: 70vh; padding: 1rem; border-right: 0; border-bottom: 1px solid var(--line); }
  .brand { margin: 0 0 0.5rem; }
  .menu > summary { display: list-item; padding: 0.3rem 0; }
  main { padding: 1.5rem 1rem; }
  .bar { padding: 1rem; }
  .operation { padding: 1rem; }
  table, tbody, th, td { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { display: flex; flex-wrap: wrap; gap: 0 0.8rem; align-items: baseline; padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  tbody th, tbody td { padding: 0; border: 0; }
  tbody th code { white-space: normal; font-weight: 600; }
  td:not(:last-child) { color: var(--quiet); font-size: 0.85rem; }
  td[data-label]::before { content: attr(data-label) ': '; }
  td:last-child { flex-basis: 100%; min-width: 0; }
  td:empty { display: none; }
}
@media print { .columns > nav, .try, .skip { display: none; } .columns { display: block; } }
`;
