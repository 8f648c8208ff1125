/* Puts a button beside each sample of a page, which copies it. Without scripts, samples are selected by hand. */

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

// Browsers give the clipboard only to pages loaded over https or from this machine.
if (isSecureContext) {
  for (const sample of document.querySelectorAll('main :not(.empty) > pre'))
    sample.before(copyButton(sample));
  for (const secret of document.querySelectorAll('main .secret code')) secret.after(copyButton(secret));
}

export {};
