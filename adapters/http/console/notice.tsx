/** What forms did, by the word that the address of the page after them carries. */
const notices = {
  keyMade:
    'This form was sent before, and a key is shown only once. If you did not store it, revoke it where it is listed, and make another.',
  keyRevoked: 'The key is revoked. Calls with it are refused, everywhere within 5 seconds.',
  hookMade:
    'This form was sent before, and the URL of a hook is shown only once. If you did not store it, delete the hook where it is listed, and make another.',
  hookSaved: 'Saved, for calls from now on.',
  hookPaused: 'Paused. Calls that arrive until you resume it are refused, and not kept.',
  hookResumed: 'The hook sends again.',
  hookDeleted: 'The hook is deleted forever: calls of its URL are refused.',
  registered: 'The endpoint was made already. Its secret was shown once; if it is lost, rotate it.',
  enabled: 'The endpoint is switched on. Deliveries that wait go on now.',
  changed: 'Saved. It holds for events that occur from now on.',
  deleted: 'The endpoint is deleted. Nothing more is sent to it.',
  rotated: 'The secret was rotated already, and was shown once. If it is lost, rotate it again.',
  replayed: 'Every event since then that the endpoint had not accepted is sent now.',
  retried: 'The delivery is due now.',
  designSaved: 'The design is saved. Cards without a choice of their own have it from now on.',
  designRenamed: 'The design has its new name.',
  designArchived: 'The design is archived. Cards that were sent with it keep it.',
  settingsSaved: 'Saved. The house hand writes cards that are sent from now on.',
  addressAdded: 'The address is on the list. Cards to it are held.',
  addressRemoved: 'The address is off the list.',
  linkMade: 'The link was made already, and was shown once. If you don’t have it, make another.',
  roleChanged: 'The role is changed. It holds everywhere within 5 seconds.',
  memberRemoved: 'Done: whoever it was can’t come in any more.',
  creditsAdded: 'The credits are added. A repeat with the same reference adds nothing.',
  cardReleased: 'The card is released, and 1 credit was spent for it.',
  cardCancelled: 'The card is cancelled. Nothing was charged.',
  catalogueChanged: 'The catalogue is changed.',
  contactSaved: 'The contact is saved: every field of it.',
  contactDeleted: 'The contact is deleted, and its details are erased.',
  importStopped: 'Stopped. What is saved already stays.',
  redriven: 'These dead letters are due now, each for one more attempt.',
} as const;
export type Notice = keyof typeof notices;

const isNotice = (word: string): word is Notice => Object.hasOwn(notices, word);

/** Says what the form before did; nothing for any other word. */
export const Done = ({ word }: { readonly word: string }) =>
  isNotice(word) ? (
    <p class="done" role="status">
      {notices[word]}
    </p>
  ) : null;
