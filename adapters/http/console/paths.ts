/** The addresses of the pages, so that links and the table can't differ. */
export const paths = {
  start: '/console',
  signIn: '/console/sign-in',
  enter: '/console/enter/:link',
  reset: '/console/reset/:link',
  join: '/console/join/:organization/:invitation',
  choose: '/console/choose',
  me: '/console/me',
  home: '/console/:org',
  cards: '/console/:org/cards',
  keys: '/console/:org/keys',
  hooks: '/console/:org/hooks',
  hook: '/console/:org/hooks/:id',
  card: '/cards/:code',
} as const;
