/*
 * A browser's additions to every page: a button beside each sample copies it, a visible page updates itself,
 * a form previews its result, and a file can be dropped and is seen to go. Without scripts, samples are
 * selected, pages loaded, previews asked for and files chosen by hand.
 */

const pause = 5_000;

/** Trusted HTML, which the compiler knows as text. */
interface Policy {
  readonly createHTML: (text: string) => string;
}

const copyButton = (sample: Element): HTMLButtonElement => {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(sample.textContent ?? '').then(
      () => (button.textContent = 'Copied'),
      () => (button.textContent = 'Not copied'),
    );
  });
  return button;
};

const addCopyButtons = (within: ParentNode): void => {
  // Browsers give the clipboard only to pages loaded over https or from this machine.
  if (!isSecureContext) return;
  for (const sample of within.querySelectorAll('main :not(.empty) > pre')) sample.before(copyButton(sample));
  for (const secret of within.querySelectorAll('main .secret code, [data-copy]'))
    secret.after(copyButton(secret));
};

/** The visitor is using it: it has the focus, or something in it was unfolded. */
const isInUse = (region: Element): boolean =>
  region.contains(document.activeElement) || region.querySelector('details[open]') !== null;

const swap = (fresh: Document): void => {
  for (const region of document.querySelectorAll('[data-refresh]')) {
    const next = fresh.getElementById(region.id);
    if (next === null || isInUse(region) || next.isEqualNode(region)) continue;
    region.replaceWith(document.adoptNode(next));
    addCopyButtons(next);
  }
};

let policy: Policy | undefined;

/** The one way from text to elements: pages of this service, asked for here and nowhere else. */
const pageIn = (text: string): Document => {
  const rules: Policy = { createHTML: (html) => html };
  type Policies = { readonly createPolicy: (name: string, rules: Policy) => Policy };
  const policies = (window as { readonly trustedTypes?: Policies }).trustedTypes;
  policy ??= policies?.createPolicy('console', rules) ?? rules;
  return new DOMParser().parseFromString(policy.createHTML(text), 'text/html');
};

const refresh = async (): Promise<void> => {
  if (document.visibilityState !== 'visible') return;
  const response = await fetch(location.href, { cache: 'no-store', headers: { 'x-refresh': '1' } });
  // Redirected to the sign-in page: keep what is shown.
  if (!response.ok || response.redirected) return;
  swap(pageIn(await response.text()));
};

/** Fetches the page again and again, also after a failure, and updates its regions. */
const keepFresh = (): void => {
  setTimeout(() => void refresh().then(keepFresh, keepFresh), pause);
};

const typingPause = 300;
/** Each preview counts as a form, of which a person may send 120 in a minute. */
const previewPause = 1_000;

/**
 * Shows the preview of a form a moment after typing stops, as its button `preview` does: one at a time, and
 * at the end that of what was typed last.
 */
const previewWhileTyping = (form: HTMLFormElement): void => {
  let timer = 0;
  let isWanted = false;
  let isAsking = false;
  const show = async (): Promise<void> => {
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === 'string') fields.append(name, value);
    fields.set('do', 'preview');
    const response = await fetch(location.href, { method: 'POST', body: fields });
    if (!response.ok || response.redirected) return;
    const next = pageIn(await response.text()).getElementById('preview');
    if (next !== null) document.getElementById('preview')?.replaceWith(next);
  };
  const ask = async (): Promise<void> => {
    isWanted = true;
    if (isAsking) return;
    isAsking = true;
    for (; isWanted; await new Promise((resolve) => setTimeout(resolve, previewPause))) {
      isWanted = false;
      await show().catch(() => undefined);
    }
    isAsking = false;
  };
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), typingPause);
  });
};

/** Takes a file that is dropped on its form, and shows how much of it is uploaded. */
const followUpload = (form: HTMLFormElement): void => {
  const field = form.querySelector<HTMLInputElement>('[type=file]');
  if (field === null) return;
  const hint = document.createElement('span');
  hint.className = 'hint';
  hint.textContent = 'Or drop it here.';
  field.after(hint);
  form.addEventListener('dragover', (event) => event.preventDefault());
  form.addEventListener('drop', (event) => {
    event.preventDefault();
    const files = event.dataTransfer?.files;
    if (files?.length === 1) field.files = files;
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const request = new XMLHttpRequest();
    const bar = document.createElement('progress');
    bar.setAttribute('aria-label', 'Uploaded');
    form.append(bar);
    for (const button of form.querySelectorAll('button')) button.disabled = true;
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      // All of it is there, and is at work.
      if (loaded === total) bar.removeAttribute('value');
      else bar.value = loaded / total;
    });
    request.addEventListener('load', () => {
      if (request.status < 400) return location.assign(request.responseURL);
      const fresh = pageIn(request.responseText);
      const alert = fresh.querySelector<HTMLElement>('[autofocus]');
      alert?.removeAttribute('autofocus');
      document.body.replaceWith(document.adoptNode(fresh.body));
      enhance(document.body);
      alert?.focus();
    });
    // Shows what the browser has to say.
    request.addEventListener('error', () => form.submit());
    request.open('POST', form.action);
    request.send(new FormData(form));
  });
};

const enhance = (within: ParentNode): void => {
  addCopyButtons(within);
  const live = within.querySelector<HTMLFormElement>('.live form');
  const upload = within.querySelector<HTMLFormElement>('[enctype]');
  if (live !== null) previewWhileTyping(live);
  if (upload !== null) followUpload(upload);
};

enhance(document);
if (document.querySelector('[data-refresh]') !== null) keepFresh();

export {};
