import { isPlainObject } from '../../../domain/plain-object.js';

type Node = Readonly<Record<string, unknown>>;

/**
 * The meanings of fields of event data, by the end of their path: the longest match counts. Texts in
 * Markdown, as in the document.
 */
const meanings: Readonly<Record<string, string>> = {
  account: 'The account with which the invitation was accepted.',
  'actor.id': 'The key, the hook, the account of a member, or the key of an operator; null if there is none.',
  'actor.kind': 'The kind of actor.',
  address: 'Null if the contact has none.',
  amount: 'How many credits were moved; always positive.',
  artwork: 'The front of the design, or of the card of the collection; null if it has no picture.',
  at: 'When it happened, by the clock of the service.',
  balance: 'The credits of the organization after this movement.',
  bytes: 'The length of the print master.',
  birthday: 'The day alone counts; null if it is unknown.',
  card: 'The code of the card, such as `HC-7K3M9QX`.',
  'cause.card': 'The card that was paid for.',
  'cause.command': 'The command that was to write the card.',
  'cause.owed': 'The event of a card that owes the credit: a hold, a cancel or a failure.',
  'cause.revision': 'The place in the stream of the card that was paid for.',
  'cause.void':
    'A payment whose place in the stream of the card something else took: the send or the release was interrupted.',
  cause:
    'Why credits moved: one cause moves them once. Of a purchase, its command; of a payment, the place in the stream of a card that it pays for; of a return, what owes it.',
  city: 'The city.',
  command: 'The command that was interrupted.',
  company: 'Null if it is unknown.',
  contact: 'The contact to whom the card was sent; null if the address was given.',
  copied:
    'Whether this send made the copy of a card of the collection that the organization uses from then on.',
  country: 'The country, as two letters.',
  description: 'What the organization calls the endpoint; null if it has no description.',
  'design.id': 'The design, as the API names it.',
  'design.name': 'The name of the design.',
  'design.slug': 'The card of the collection of which the design is a copy; null if it is none.',
  design: 'The design of a card. Of a hook, null for the newest one at each call.',
  digest: 'The SHA-256 of the print master of the front.',
  due: 'The day on which the card goes to production.',
  earliest: 'The first day on which the card may arrive.',
  email: 'The e-mail address.',
  events:
    'The types of public events that the endpoint is sent; empty for all, including those that are added later.',
  'KeysLost.events': "How many events can't be read.",
  'KeysLost.newest': 'When the newest of those events happened.',
  'KeysLost.blocks': 'How many blocks of keys were lost, of all organizations together.',
  'KeysLost.by': 'The name of the person who gave the keys up.',
  'HeadGivenUp.size': 'How many events the log had when its head was signed last; null if that is unknown.',
  'HeadGivenUp.root': 'The root of the tree over those events, in base64; null if that is unknown.',
  'HeadGivenUp.from': 'How many events the older copy holds, after which the log goes on.',
  'HeadGivenUp.by': 'The name of the person who accepted the older copy.',
  expires: 'When the invitation ends.',
  expiresAt: 'When the key ends by itself; null for never.',
  externalId: 'What the organization calls the contact; null if it gave none.',
  firstName: 'Null if it is unknown.',
  fit: '`fill`: the picture fills the card and is cut at its edges. `fit`: it is whole, with a white border.',
  front: 'The SHA-256 of the print master of the front; null if the design has no picture.',
  generation: 'Counts the secrets of the endpoint, from 0.',
  handwriting: 'The handwriting of the message and the envelope.',
  height: 'The height of the picture of which the front was made, in dots.',
  houseHand: 'The handwriting of cards for which none is chosen.',
  id: 'What the event is about: a design, an endpoint, or a member.',
  invitation: 'The invitation; its link holds a secret that is in no event.',
  jobTitle: 'Null if it is unknown.',
  key: 'The master key from which the signing secret is derived, by its id.',
  kind: 'What was taken out of the log: a card, an organization, or a period.',
  label: 'What it is called; null if it has no label.',
  lastName: 'Null if it is unknown.',
  latest: 'The last day on which the card should arrive.',
  ledgerRevision: "The place in the ledger before which the purchase can't stand.",
  line1: 'The first line of the street address.',
  line2: 'The second line of the street address; null if there is none.',
  machine: 'The machine that reported it; null if none was named.',
  message: 'The message, as the pen writes it.',
  name: 'The name.',
  order: 'What was ordered. Of a hold, null if the card was scheduled before.',
  org: 'The organization.',
  owed: 'The event of a card that owes the credit: a hold, a cancel or a failure.',
  owes: '1 if the credit of the card comes back, 0 if none was spent.',
  personal: 'Personal data. Null once it was erased: erase what you keep of it, too.',
  phone: 'Null if it is unknown.',
  reason: 'The reason that was given; null if there was none or it was erased.',
  recipient: 'To whom the card is mailed.',
  reference: 'What the sender or the buyer calls it, such as the number of an order; null if there is none.',
  request:
    'Tells sends apart: a keyed hash of the organization and the Idempotency-Key, or the command where there is no key.',
  requestsPerMinute: 'The limit of the key; null for that of the service.',
  revision: 'The place in the stream of the card.',
  role: 'What the member may do.',
  scopes: 'What the key may do.',
  secret: 'Which signing secret it is. The secret itself is in no event.',
  signedBy: 'The name below the messages of the hook; null if there is none.',
  'source.kind': 'Over the API, by a hook, or by a person in the console.',
  'source.id': 'The key, the hook, or the account of the person.',
  source:
    'Through what the card was sent. Of an event without an order, `console` if it was sent there; else left out.',
  state: 'The state, as two letters.',
  step: 'The step of production.',
  subject: 'Whose events were taken out of the log: a card, an organization, or `all`.',
  sum: 'Hex SHA-256 of every line of the export but the last; null if it was broken off.',
  template: 'The template of the messages of the hook; null if each payload brings its own.',
  title: 'The title of the card in the collection.',
  url: 'The address of the endpoint.',
  width: 'The width of the picture of which the front was made, in dots.',
  window: 'The days between which the card should arrive.',
  withArtwork: 'Whether the pictures on the fronts were shown.',
  withPersonal: 'Whether personal data was shown.',
  workAnniversary: 'The day alone counts; null if it is unknown.',
  zip: 'The postal code.',
};

/** The meaning of the field at a path. */
const meaningOf = (path: readonly string[]): string | undefined =>
  path.map((_, at) => meanings[path.slice(at).join('.')]).find((meaning) => meaning !== undefined);

const inside = (value: unknown, path: readonly string[]): unknown => {
  if (Array.isArray(value)) return value.map((each: unknown) => inside(each, path));
  return isPlainObject(value) ? withMeanings(value, path) : value;
};

/** A JSON Schema of event data, with the meaning of each field. */
export const withMeanings = (schema: Node, path: readonly string[] = []): Node => {
  const fieldsOf = (properties: unknown): Node =>
    Object.fromEntries(
      Object.entries(properties as Readonly<Record<string, Node>>).map(([name, field]) => {
        const here = [...path, name];
        const meaning = meaningOf(here);
        return [name, { ...withMeanings(field, here), ...(meaning && { description: meaning }) }];
      }),
    );
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === 'properties' ? fieldsOf(value) : inside(value, path),
    ]),
  );
};
