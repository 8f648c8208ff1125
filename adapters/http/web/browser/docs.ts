/*
 * A browser's additions to the reference: it sends the calls that a reader tries. Responses are shown as
 * text, never as HTML; the key stays in its field.
 */

/** The element that a page of ours has for this. */
const one = <T extends Element>(selector: string, kind: new () => T, within: ParentNode = document): T => {
  const found = within.querySelector(selector);
  if (found instanceof kind) return found;
  throw new Error(`There is no ${selector}.`);
};

const key = one('#key', HTMLInputElement);
one('#credentials', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());

type Field = HTMLInputElement | HTMLTextAreaElement;

const fieldsOf = (form: HTMLFormElement, place: string): readonly Field[] => [
  ...form.querySelectorAll<Field>(`[data-in="${place}"]`),
];

const nameOf = (field: Field): string => field.dataset['name'] ?? '';

const addressOf = (form: HTMLFormElement): string => {
  let path = form.dataset['path'] ?? '';
  for (const field of fieldsOf(form, 'path'))
    path = path.replace(`{${nameOf(field)}}`, () => encodeURIComponent(field.value));
  const query = new URLSearchParams();
  for (const field of fieldsOf(form, 'query')) if (field.value !== '') query.set(nameOf(field), field.value);
  return query.size === 0 ? path : `${path}?${query}`;
};

const requestOf = (form: HTMLFormElement): RequestInit => {
  const headers = new Headers();
  const access = form.dataset['access'];
  if (access !== 'public' && access !== 'hook' && key.value.trim() !== '')
    headers.set('authorization', `Bearer ${key.value.trim()}`);
  for (const field of fieldsOf(form, 'header'))
    if (field.value !== '') headers.set(nameOf(field), field.value);
  const [body] = fieldsOf(form, 'body');
  if (body !== undefined) headers.set('content-type', 'application/json');
  return {
    method: form.dataset['method'] ?? 'GET',
    headers,
    body: body?.value ?? null,
    cache: 'no-store',
    credentials: 'omit',
  };
};

const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const show = (form: HTMLFormElement, title: string, text: string): void => {
  const heading = document.createElement('p');
  heading.textContent = title;
  const body = document.createElement('pre');
  body.tabIndex = 0;
  body.textContent = text;
  one('.response', HTMLElement, form).replaceChildren(heading, ...(text === '' ? [] : [body]));
};

const send = async (form: HTMLFormElement): Promise<void> => {
  const button = one('button', HTMLButtonElement, form);
  button.disabled = true;
  try {
    const response = await fetch(addressOf(form), requestOf(form));
    const title = `${response.status} ${response.statusText}, request ${response.headers.get('x-request-id')}`;
    show(form, title, pretty(await response.text()));
  } catch (error) {
    show(form, `There was no response: ${error instanceof Error ? error.message : String(error)}`, '');
  } finally {
    button.disabled = false;
  }
};

for (const form of document.querySelectorAll<HTMLFormElement>('.try form'))
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });

export {};
