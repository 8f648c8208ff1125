/*
 * A browser's additions to the documentation: results of a search while it is typed, a mark at the part that
 * is read, and all samples in the language that was chosen for one. Without scripts, Enter searches. The
 * index is loaded when the field is first used.
 */

interface Entry {
  readonly path: string;
  readonly title: string;
  readonly page: string;
  readonly text: string;
}

// Declared by the file that is served before this module.
declare const findEntries: (entries: readonly Entry[], query: string, maxEntries: number) => readonly Entry[];

const field = document.querySelector<HTMLInputElement>('#q');
const found = document.querySelector<HTMLElement>('#found');
const count = document.querySelector<HTMLElement>('#found-count');

const linkTo = ({ path, title, page }: Entry): HTMLAnchorElement => {
  const link = document.createElement('a');
  link.href = path;
  const around = document.createElement('span');
  around.textContent = page;
  link.append(title, around);
  return link;
};

/** So many results are shown. */
const maxResults = 8;

const countOf = (found: number): string =>
  found > maxResults ? `The first ${maxResults} results` : found === 1 ? '1 result' : `${found} results`;

/** Counts searches: an older one shows nothing any more. */
let latest = 0;

let index: Promise<readonly Entry[]> | null = null;
const indexAt = async (path: string): Promise<readonly Entry[]> => {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`The index could not be loaded: ${response.status}`);
  return (await response.json()) as readonly Entry[];
};

const close = (): void => {
  latest += 1;
  if (found !== null) found.hidden = true;
};

const show = async (input: HTMLInputElement, panel: HTMLElement): Promise<void> => {
  const asked = ++latest;
  index ??= indexAt(input.dataset['index'] ?? '');
  const entries = await index.catch(() => {
    index = null;
    return [];
  });
  // The visitor has closed the panel, or typed on, while the index was loaded.
  if (asked !== latest) return;
  const all = findEntries(entries, input.value, maxResults + 1);
  const results = all.slice(0, maxResults);
  panel.replaceChildren(...results.map(linkTo));
  panel.hidden = results.length === 0;
  if (count !== null) count.textContent = input.value.trim() === '' ? '' : countOf(all.length);
};

/** The keys with which a reader goes through the results. */
const step = (event: KeyboardEvent, panel: HTMLElement, input: HTMLInputElement): void => {
  if (event.key === 'Escape') {
    close();
    input.focus();
    return;
  }
  const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (by === 0 || panel.hidden) return;
  event.preventDefault();
  const stops = [input, ...panel.querySelectorAll('a')];
  const at = stops.findIndex((stop) => stop === document.activeElement);
  stops[(at + by + stops.length) % stops.length]?.focus();
};

if (field !== null && found !== null) {
  const [input, panel] = [field, found];
  const update = (): void => void show(input, panel);
  input.addEventListener('focus', update, { once: true });
  input.addEventListener('input', update);
  input.form?.addEventListener('keydown', (event) => step(event, panel, input));
  panel.addEventListener('click', close);
  document.addEventListener('click', ({ target }) => {
    if (target instanceof Node && input.form?.contains(target) === false) close();
  });
  document.addEventListener('keydown', (event) => {
    const { target } = event;
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
}

/** Marks the part of the page at the top of the window, where the page lists its parts. */
const markParts = (): void => {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('.parts a')].map((link) => [link.hash.slice(1), link]),
  );
  const seen = new Set<string>();
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting) seen.add(target.id);
        else seen.delete(target.id);
      const current = [...links.keys()].filter((id) => seen.has(id)).at(-1);
      for (const [id, link] of links)
        if (id === current) link.setAttribute('aria-current', 'location');
        else link.removeAttribute('aria-current');
    },
    { rootMargin: '-90px 0px -75% 0px' },
  );
  for (const id of links.keys()) {
    const part = document.getElementById(id);
    if (part !== null) watcher.observe(part);
  }
};
markParts();

/** The link to a page as Markdown copies that instead. If it can't, it leads there, as without scripts. */
const copyPage = (link: HTMLAnchorElement): void => {
  link.textContent = 'Copy as Markdown';
  link.addEventListener('click', (event) => {
    event.preventDefault();
    fetch(link.href)
      .then((response) => response.text())
      .then((text) => navigator.clipboard.writeText(text))
      .then(
        () => (link.textContent = 'Copied'),
        () => location.assign(link.href),
      );
  });
};
// Browsers give the clipboard only to pages loaded over https or from this machine.
if (isSecureContext)
  for (const link of document.querySelectorAll<HTMLAnchorElement>('[data-markdown]')) copyPage(link);

/** A language that was chosen for one sample is that of all of them, on the next page too. */
const remembered = 'language of samples';
const radios = [...document.querySelectorAll<HTMLInputElement>('.languages input')];
const choose = (language: string): void => {
  for (const radio of radios) if (radio.value === language) radio.checked = true;
};
const stored = localStorage.getItem(remembered);
if (stored !== null) choose(stored);
for (const radio of radios)
  radio.addEventListener('change', () => {
    const before = radio.getBoundingClientRect().top;
    choose(radio.value);
    localStorage.setItem(remembered, radio.value);
    // The content above may have become longer: the sample stays where the reader looks at it.
    scrollBy({ top: radio.getBoundingClientRect().top - before, behavior: 'instant' });
  });

export {};
