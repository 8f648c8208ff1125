/** Confirmations of forms, by the word in the address of the page after them. */
const notices = {
  keyMade:
    'This form was sent before, and a key is shown only once. If you did not store it, revoke it where it is listed, and make another.',
  keyRevoked: 'The key is revoked. Calls with it are refused, everywhere within 5 seconds.',
  hookMade:
    'This form was sent before, and the URL of a hook is shown only once. If you did not store it, delete the hook where it is listed, and make another.',
  hookSaved: 'Saved. Applies to new calls.',
  hookPaused: 'Paused. Calls that arrive until you resume it are refused, and not kept.',
  hookResumed: 'Hook resumed.',
  hookDeleted: 'The hook is deleted forever: calls of its URL are refused.',
  registered: 'The endpoint already exists. Its secret was shown once; if it is lost, rotate it.',
  enabled: 'The endpoint is enabled. Its pending deliveries continue now.',
  changed: 'Saved. Applies to new events.',
  deleted: 'The endpoint is deleted. Nothing more is sent to it.',
  rotated: 'The secret was already rotated, and shown once. If it is lost, rotate it again.',
  replayed: 'All events since then that the endpoint has not accepted are being sent.',
  retried: 'The delivery is due now.',
  designSaved: 'The design is saved. New cards without a design of their own use it.',
  designRenamed: 'The design has its new name.',
  designErased:
    'The picture is being removed, and the design is archived. Its cards that are not in production are being held, and their credits come back.',
  designArchived: 'The design is archived. Cards that were sent with it keep it.',
  designWithdrawn:
    'The design is withdrawn. Its cards that are not in production are being held, and their credits come back.',
  designReinstated: 'The design is in use again. Its held cards stay held until they are released.',
  organizationRenamed: 'The organization has its new name.',
  houseHandChosen: 'The house hand is chosen. It writes new cards.',
  addressAdded: 'The address is on the list. Cards to it are held.',
  addressRemoved: 'The address is off the list.',
  linkMade: 'The link was already made, and shown once. If you don’t have it, make another.',
  roleChanged: 'The role is changed. It applies everywhere within 5 seconds.',
  memberRemoved: 'Member removed. They lose access within 5 seconds.',
  creditsAdded: 'The credits are added. A repeat with the same reference adds nothing.',
  cardReleased: 'The card is released, and 1 credit was spent for it.',
  cardCancelled: 'The card is cancelled. Nothing was charged.',
  catalogueChanged: 'The catalogue is changed.',
  contactSaved: 'The contact is saved.',
  contactDeleted: 'The contact is deleted, and its details are erased.',
  importStopped: 'Stopped. Rows that are already saved stay.',
  redriven: 'These dead letters are due now, each for one more attempt.',
} as const;
export type NoticeName = keyof typeof notices;

/** The confirmation that a word stands for; null for any other word. */
export const noticeOf = (word: string): string | null =>
  Object.hasOwn(notices, word) ? notices[word as NoticeName] : null;
