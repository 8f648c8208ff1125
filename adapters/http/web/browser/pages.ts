/*
 * A browser's additions to every page: a button beside each sample copies it, a visible page updates itself,
 * and a form previews its result. Without scripts, samples are selected, pages loaded and previews asked for
 * by hand.
 */

const pause = 5_000;

/** Trusted HTML, which the compiler knows as text. */
interface Policy {
  readonly createHTML: (text: string) => string;
}

interface Policies {
  readonly createPolicy: (name: string, rules: Policy) => Policy;
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

const refreshWith = async (policy: Policy): Promise<void> => {
  if (document.visibilityState !== 'visible') return;
  const response = await fetch(location.href, { cache: 'no-store' });
  // Redirected to the sign-in page: keep what is shown.
  if (!response.ok || response.redirected) return;
  swap(new DOMParser().parseFromString(policy.createHTML(await response.text()), 'text/html'));
};

/** The one way from text to elements: pages of this service, asked for here and nowhere else. */
const policyOfPages = (): Policy => {
  const rules: Policy = { createHTML: (text) => text };
  const policies = (window as { readonly trustedTypes?: Policies }).trustedTypes;
  return policies?.createPolicy('console', rules) ?? rules;
};

/** Fetches the page again and again, and updates its regions. */
const keepFresh = (policy: Policy): void => {
  // After a failure it tries again: the page stays unchanged meanwhile.
  const again = (): void => {
    setTimeout(
      () =>
        void refreshWith(policy)
          .catch(() => undefined)
          .then(again),
      pause,
    );
  };
  again();
};

const typingPause = 300;

/** Shows the preview of a form a moment after typing stops, as its button `preview` does. */
const previewWhileTyping = (policy: Policy, form: HTMLFormElement): void => {
  let timer = 0;
  let asked = 0;
  const show = async (): Promise<void> => {
    const mine = ++asked;
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === 'string') fields.append(name, value);
    fields.set('do', 'preview');
    const response = await fetch(location.href, { method: 'POST', body: fields });
    if (!response.ok || response.redirected) return;
    const fresh = new DOMParser().parseFromString(policy.createHTML(await response.text()), 'text/html');
    const next = fresh.getElementById('preview');
    if (mine === asked && next !== null) document.getElementById('preview')?.replaceWith(next);
  };
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void show().catch(() => undefined), typingPause);
  });
};

addCopyButtons(document);
const live = document.querySelector<HTMLFormElement>('.live form');
const hasFreshRegions = document.querySelector('[data-refresh]') !== null;
if (live !== null || hasFreshRegions) {
  const policy = policyOfPages();
  if (live !== null) previewWhileTyping(policy, live);
  if (hasFreshRegions) keepFresh(policy);
}

export {};
