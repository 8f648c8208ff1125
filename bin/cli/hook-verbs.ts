import {
  at,
  atOf,
  orgPath,
  org,
  paging,
  pagingOf,
  segment,
  type CommandInput,
  type Option,
  type Verb,
} from './verbs.js';

const pauseVerb = (verb: 'pause' | 'resume', description: string): Verb => ({
  noun: 'hook',
  verb,
  description,
  argument: 'id',
  options: [org],
  call: (input) => ({ method: 'PATCH', path: hookPath(input), body: { paused: verb === 'pause' } }),
});

const hookPath = (input: CommandInput): string => orgPath(input, `/hooks/${segment(input.argument)}`);

const settings: readonly Option[] = [
  { name: 'label', description: 'what it is for' },
  { name: 'design-id', description: 'id of a saved design, or card:<slug>' },
  { name: 'template', description: 'message template for payloads without a message' },
  { name: 'signed-by', description: 'value of {{sender_name}} in the template' },
];

const settingsOf = (input: CommandInput) => ({
  label: input.text('label'),
  design_id: input.text('designId'),
  template: input.text('template'),
  signed_by: input.text('signedBy'),
});

export const hookVerbs: readonly Verb[] = [
  {
    noun: 'hook',
    verb: 'create',
    description: 'Create an inbound hook; its token is shown only once',
    options: [org, ...settings],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/hooks'),
      body: settingsOf(input),
    }),
  },
  {
    noun: 'hook',
    verb: 'list',
    description: 'List inbound hooks',
    options: [org, at, ...paging],
    call: (input) => ({
      method: 'GET',
      path: orgPath(input, '/hooks'),
      query: { ...pagingOf(input), ...atOf(input) },
    }),
  },
  {
    noun: 'hook',
    verb: 'update',
    description: 'Change settings of a hook; what is left out stays',
    argument: 'id',
    options: [org, ...settings],
    call: (input) => ({ method: 'PATCH', path: hookPath(input), body: settingsOf(input) }),
  },
  pauseVerb('pause', 'Pause a hook'),
  pauseVerb('resume', 'Resume a paused hook'),
  {
    noun: 'hook',
    verb: 'delete',
    description: 'Delete a hook forever',
    argument: 'id',
    question: 'Delete this hook forever?',
    options: [org],
    call: (input) => ({ method: 'DELETE', path: hookPath(input) }),
  },
  {
    noun: 'hook',
    verb: 'calls',
    description: 'List the calls of a hook with their results, newest first',
    argument: 'id',
    options: [org, ...paging],
    call: (input) => ({ method: 'GET', path: `${hookPath(input)}/calls`, query: pagingOf(input) }),
  },
];
