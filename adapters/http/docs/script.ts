/**
 * The script of the documentation: it sends the calls that a reader tries, copies samples, and folds the
 * table of contents on a narrow screen. Responses are shown as text, never as HTML; the key stays in its
 * field.
 */
export const script = `'use strict';
(() => {
  const key = document.getElementById('key');
  document.getElementById('credentials').addEventListener('submit', (event) => event.preventDefault());

  const fields = (form, place) => [...form.querySelectorAll('[data-in="' + place + '"]')];

  const addressOf = (form) => {
    let path = form.dataset.path;
    for (const field of fields(form, 'path')) path = path.replace('{' + field.dataset.name + '}', () => encodeURIComponent(field.value));
    const query = new URLSearchParams();
    for (const field of fields(form, 'query')) if (field.value !== '') query.set(field.dataset.name, field.value);
    return query.size === 0 ? path : path + '?' + query;
  };

  const requestOf = (form) => {
    const headers = new Headers();
    if (form.dataset.access !== 'public' && form.dataset.access !== 'hook' && key.value.trim() !== '') headers.set('authorization', 'Bearer ' + key.value.trim());
    for (const field of fields(form, 'header')) if (field.value !== '') headers.set(field.dataset.name, field.value);
    const [body] = fields(form, 'body');
    if (body !== undefined) headers.set('content-type', 'application/json');
    return { method: form.dataset.method, headers, body: body?.value, cache: 'no-store', credentials: 'omit' };
  };

  const pretty = (text) => {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  };

  const show = (form, title, text) => {
    const heading = document.createElement('p');
    heading.textContent = title;
    const body = document.createElement('pre');
    body.tabIndex = 0;
    body.textContent = text;
    form.querySelector('.response').replaceChildren(heading, ...(text === '' ? [] : [body]));
  };

  const send = async (form) => {
    const button = form.querySelector('button');
    button.disabled = true;
    try {
      const response = await fetch(addressOf(form), requestOf(form));
      show(form, response.status + ' ' + response.statusText + ', request ' + response.headers.get('x-request-id'), pretty(await response.text()));
    } catch (error) {
      show(form, 'There was no response: ' + error.message, '');
    } finally {
      button.disabled = false;
    }
  };

  const menu = document.querySelector('.menu');
  const narrow = matchMedia('(max-width: 52rem)');
  const fold = () => {
    menu.open = !narrow.matches;
  };
  narrow.addEventListener('change', fold);
  menu.addEventListener('click', (event) => {
    if (narrow.matches && event.target.closest('a') !== null) menu.open = false;
  });
  fold();

  const copyButton = (sample) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      button.textContent = await navigator.clipboard.writeText(sample.textContent).then(() => 'Copied', () => 'Not copied');
    });
    return button;
  };

  // Browsers give the clipboard only to pages loaded over https or from this machine.
  if (navigator.clipboard !== undefined) for (const sample of document.querySelectorAll('main pre')) sample.before(copyButton(sample));

  for (const form of document.querySelectorAll('.try form'))
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form);
    });
})();
`;
