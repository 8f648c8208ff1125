/**
 * What the documentation does in the browser: sends the calls that a reader tries, copies samples, folds the
 * contents on a narrow screen. Answers are shown as text, never as HTML; the key stays in its field.
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
    const answer = document.createElement('pre');
    answer.tabIndex = 0;
    answer.textContent = text;
    form.querySelector('.answer').replaceChildren(heading, ...(text === '' ? [] : [answer]));
  };

  const send = async (form) => {
    const button = form.querySelector('button');
    button.disabled = true;
    try {
      const answer = await fetch(addressOf(form), requestOf(form));
      show(form, answer.status + ' ' + answer.statusText + ', request ' + answer.headers.get('x-request-id'), pretty(await answer.text()));
    } catch (error) {
      show(form, 'There was no answer: ' + error.message, '');
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

  // Browsers offer the clipboard to pages that came over https, or from this machine.
  if (navigator.clipboard !== undefined) for (const sample of document.querySelectorAll('main pre')) sample.before(copyButton(sample));

  for (const form of document.querySelectorAll('.try form'))
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form);
    });
})();
`;
