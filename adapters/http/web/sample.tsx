/** A secret that is shown only once: a click selects all of it, and where scripts run, a button copies it. */
export const Secret = ({ text }: { readonly text: string }) => (
  <div class="secret">
    <code tabIndex={0}>{text}</code>
  </div>
);
