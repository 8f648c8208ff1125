/* Puts a button before each sample of a page that copies it. Without scripts, a sample is selected and copied by hand. */

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
if (isSecureContext)
  for (const sample of document.querySelectorAll('main pre')) sample.before(copyButton(sample));

export {};
