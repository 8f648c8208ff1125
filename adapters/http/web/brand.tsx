/** The name of the service, with its sign. */
export const Brand = ({ to }: { readonly to: string }) => (
  <a class="brand" href={to}>
    <svg viewBox="0 0 20 20" width="24" height="24" aria-hidden="true">
      <rect width="20" height="20" rx="5" fill="currentColor" />
      <path d="m4 7 6 4 6-4v7H4z" fill="none" stroke="#fff" stroke-width="1.5" stroke-linejoin="round" />
    </svg>
    <span>Handwritten Cards</span>
  </a>
);
