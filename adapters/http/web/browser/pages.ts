/*
 * What a browser adds to every page: it puts a button beside each sample, which copies it, and shows what has
 * changed while a page is looked at. Without scripts, samples are selected and pages loaded by hand.
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

/** Somebody is at work in it: the keyboard is there, or something was unfolded. */
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
  // Elsewhere is the page for signing in: leave what is shown.
  if (!response.ok || response.redirected) return;
  swap(new DOMParser().parseFromString(policy.createHTML(await response.text()), 'text/html'));
};

/** Asks for the page again and again, and shows what became of its regions. */
const keepFresh = (): void => {
  // The one way from text to elements: pages of this service, asked for above and nowhere else.
  const rules: Policy = { createHTML: (text) => text };
  const policies = (window as { readonly trustedTypes?: Policies }).trustedTypes;
  const policy = policies?.createPolicy('console', rules) ?? rules;
  // What went wrong once is tried again: the page stays as it is meanwhile.
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

addCopyButtons(document);
if (document.querySelector('[data-refresh]') !== null) keepFresh();

export {};
