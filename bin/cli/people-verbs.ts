import { memberRoles, staffRoles } from '../../domain/permissions.js';
import { house } from '../../domain/members.js';
import { at, atOf, org, orgPath, segment, type CommandInput, type Option, type Verb } from './verbs.js';

const role: Option = {
  name: 'role',
  description: `${memberRoles.join(', ')}; of the house ${staffRoles.join(', ')}`,
  required: true,
};
const of: Option = { ...org, description: `${org.description}; ${house} for the service's own people` };

const member = (input: CommandInput, rest = ''): string =>
  orgPath(input, `/members/${segment(input.argument)}${rest}`);

/** Verbs about the people who sign in to the console. */
export const peopleVerbs: readonly Verb[] = [
  {
    noun: 'member',
    verb: 'invite',
    description: 'Invite somebody, or again; prints the link to pass on',
    options: [
      of,
      { name: 'email', description: 'their e-mail address', required: true },
      { name: 'name', description: 'their name', required: true },
      role,
    ],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/members'),
      body: { email: input.text('email'), name: input.text('name'), role: input.text('role') },
    }),
  },
  {
    noun: 'member',
    verb: 'list',
    description: 'List the members of an organization, invited ones too',
    options: [of, at],
    call: (input) => ({ method: 'GET', path: orgPath(input, '/members'), query: atOf(input) }),
  },
  {
    noun: 'member',
    verb: 'role',
    description: 'Give a member another role',
    argument: 'id',
    options: [of, role],
    call: (input) => ({ method: 'PATCH', path: member(input), body: { role: input.text('role') } }),
  },
  {
    noun: 'member',
    verb: 'remove',
    description: 'Remove a member, or withdraw an invitation',
    argument: 'id',
    options: [of],
    call: (input) => ({ method: 'DELETE', path: member(input) }),
  },
  {
    noun: 'member',
    verb: 'reset',
    description: 'Make a link for a new password; prints it',
    argument: 'id',
    options: [of],
    call: (input) => ({ method: 'POST', path: member(input, '/reset') }),
  },
];
