import { inOrg, org, paging, pagingOf, segment, type Typed, type Verb } from './verbs.js';

const pausing = (verb: 'pause' | 'resume', about: string): Verb => ({
  noun: 'hook',
  verb,
  about,
  thing: 'id',
  options: [org],
  call: (typed) => ({ method: 'PATCH', path: hookPath(typed), body: { paused: verb === 'pause' } }),
});

const hookPath = (typed: Typed): string => inOrg(typed, `/hooks/${segment(typed.thing)}`);

export const hookVerbs: readonly Verb[] = [
  {
    noun: 'hook',
    verb: 'create',
    about: 'Make an inbound hook; its token is shown this once',
    options: [
      org,
      { name: 'label', about: 'what it is for' },
      { name: 'design-id', about: 'id of a saved design, or card:<slug>' },
      { name: 'template', about: 'makes the message of a payload that has none' },
      { name: 'signed-by', about: 'the variable {{sender_name}}' },
    ],
    call: (typed) => ({
      method: 'POST',
      path: inOrg(typed, '/hooks'),
      body: {
        label: typed.text('label'),
        design_id: typed.text('designId'),
        template: typed.text('template'),
        signed_by: typed.text('signedBy'),
      },
    }),
  },
  {
    noun: 'hook',
    verb: 'list',
    about: 'List inbound hooks',
    options: [org, ...paging],
    call: (typed) => ({ method: 'GET', path: inOrg(typed, '/hooks'), query: pagingOf(typed) }),
  },
  pausing('pause', 'Stop a hook until it is resumed'),
  pausing('resume', 'Let a paused hook send again'),
  {
    noun: 'hook',
    verb: 'delete',
    about: 'Delete a hook for ever',
    thing: 'id',
    options: [org],
    call: (typed) => ({ method: 'DELETE', path: hookPath(typed) }),
  },
  {
    noun: 'hook',
    verb: 'calls',
    about: 'The calls of a hook with their results, newest first',
    thing: 'id',
    options: [org, ...paging],
    call: (typed) => ({ method: 'GET', path: `${hookPath(typed)}/calls`, query: pagingOf(typed) }),
  },
];
