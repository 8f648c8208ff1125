import { org, orgPath, type Verb } from './verbs.js';

const reason = { name: 'reason', description: 'why; name nobody in it', required: true };

/** The rights of people whose data is in cards and contacts. */
export const privacyVerbs: readonly Verb[] = [
  {
    noun: 'erase',
    verb: 'card',
    argument: 'code',
    question: 'Erase the personal data of this card for good?',
    description: 'Erase the personal data of a posted, cancelled or failed card for good',
    options: [org, reason],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/erasures'),
      body: { cards: [input.argument], reason: input.text('reason') },
    }),
  },
  {
    noun: 'erase',
    verb: 'contact',
    argument: 'id',
    question: 'Erase the details of this contact for good?',
    description: 'Erase the details of a contact for good',
    options: [org, reason],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/erasures'),
      body: { contacts: [input.argument], reason: input.text('reason') },
    }),
  },
  {
    noun: 'erase',
    verb: 'find',
    description: 'Find the cards and contacts of a person',
    options: [
      org,
      { name: 'name', description: 'part of the name' },
      { name: 'zip', description: 'beginning of the ZIP code' },
      { name: 'email', description: 'part of the e-mail address' },
    ],
    call: (input) => ({
      method: 'GET',
      path: orgPath(input, '/subjects'),
      query: { name: input.text('name'), zip: input.text('zip'), email: input.text('email') },
    }),
  },
];
