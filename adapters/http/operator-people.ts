import { z } from 'zod';
import {
  changeRole,
  inviteMember,
  listMembers,
  listMembersAt,
  removeMember,
  type PeopleDeps,
} from '../../application/access/people.js';
import { issueReset } from '../../application/access/password-resets.js';
import { issueLink } from '../../application/access/sign-in-links.js';
import { root } from '../../application/access/sessions.js';
import { longestContactText, longestEmail } from '../../domain/contact.js';
import { Instant, Uuid } from '../../domain/ids.js';
import type { Member } from '../../domain/members.js';
import { memberRoles, staffRoles } from '../../domain/permissions.js';
import { paths } from './console/paths.js';
import { text } from './fields.js';
import { asOfBody, asOfField, atErrors, atQuery, momentFrom } from './moments.js';
import {
  byOperator,
  idParam,
  officeAccess,
  rootAccess,
  operatorFailure,
  operatorOperation,
  orgOf,
  orgOnly,
  orgParam,
  orgPath,
} from './operator.js';
import { readAll } from './read.js';
import { instant, listOf, timestamp, wholeList } from './responses.js';
import { route, type Route } from './route.js';
import { pageUrl, placeOf } from './web/url.js';

export interface PeopleRouteDeps extends PeopleDeps {
  readonly baseUrl: () => string;
}

const failure = operatorFailure;
const role = z.enum([...memberRoles, ...staffRoles]).meta({
  description: `Of an organization ${memberRoles.join(', ')}; of the house ${staffRoles.join(', ')}.`,
  'x-error-code': 'invalid_parameter',
});
export const newMember = z.object({
  email: text({
    maxLength: longestEmail,
    pattern: /^[^\s@]+@[^\s@]+$/u,
    hint: 'an e-mail address',
    examples: ['ada@example.com'],
  }),
  name: text({ maxLength: longestContactText, examples: ['Ada Byron'] }),
  role,
});
export const roleChange = z.object({ role });
const link = z.object({
  url: z.string().meta({ format: 'uri', description: 'Works once. It is shown only here.' }),
  expires_at: instant('When it stops working.'),
});
const memberRow = z.object({
  id: z.string(),
  email: z.string().nullable(),
  name: z.string().nullable(),
  role,
  invited: z.boolean().describe('True until the invitation is accepted.'),
  invitation_expires_at: instant('When an open invitation stops working.').nullable(),
});
const orgAndId = z.object({ org: orgParam, id: idParam });

const memberBody = ({ id, person, role: has, account, expires }: Member) => ({
  id,
  email: person?.email ?? null,
  name: person?.name ?? null,
  role: has,
  invited: account === null,
  invitation_expires_at: account === null ? timestamp(expires) : null,
});

/**
 * The people who may sign in, for the operator. What a key for the office may not do to the staff is decided
 * by the use cases: it depends on whose account it is.
 */
export const peopleRoutes = (deps: PeopleRouteDeps): readonly Route[] => {
  const address = (path: string, params: Readonly<Record<string, string>>): string => {
    const { origin, prefix } = placeOf(deps.baseUrl());
    return `${origin}${pageUrl(prefix, path, params)}`;
  };
  const linkBody = (path: string, params: Readonly<Record<string, string>>, ends: number) => ({
    status: 201,
    body: { url: address(path, params), expires_at: timestamp(Instant.parse(new Date(ends).toISOString())) },
  });
  return [
    route({
      method: 'POST',
      path: '/operator/v1/console-links',
      // The link lets in whoever holds the operator token, with all that it may do.
      access: rootAccess,
      failure,
      operation: operatorOperation(
        'makeConsoleLink',
        'Make a link with which the operator enters the console, once, within 15 minutes',
        { 201: link },
        [],
      ),
      handle: async () => {
        const { token, ends } = await issueLink(deps, 'enter', root);
        return linkBody(paths.enter, { link: token }, ends);
      },
    }),
    route({
      method: 'POST',
      path: `${orgPath}/members`,
      access: officeAccess,
      params: orgOnly,
      body: newMember,
      failure,
      operation: operatorOperation(
        'inviteMember',
        'Invite somebody, or again; the service sends no mail, so pass the link on',
        { 201: link },
        ['not_found', 'invalid_transition'],
      ),
      handle: async (request) => {
        const org = orgOf(request.params);
        const member = readAll(newMember, request.body);
        const { token, expires } = await inviteMember(deps, byOperator(request), org, member);
        return linkBody(paths.join, { organization: org, invitation: token }, Date.parse(expires));
      },
    }),
    route({
      method: 'GET',
      path: `${orgPath}/members`,
      access: officeAccess,
      params: orgOnly,
      query: atQuery,
      failure: 'read_failed',
      operation: operatorOperation(
        'listMembers',
        'List the members of an organization, invited ones too, as they are or as they were',
        { 200: listOf(memberRow, 'MemberList', asOfField) },
        ['not_found', ...atErrors],
      ),
      handle: async ({ params, query }) => {
        const org = orgOf(params);
        const moment = await momentFrom(deps.store, query.at, 'at');
        if (moment === null)
          return { status: 200, body: wholeList((await listMembers(deps, org)).map(memberBody)) };
        const { was, asOf } = await listMembersAt(deps, org, moment);
        return { status: 200, body: { ...wholeList(was.map(memberBody)), ...asOfBody(asOf) } };
      },
    }),
    route({
      method: 'PATCH',
      path: `${orgPath}/members/:id`,
      access: officeAccess,
      params: orgAndId,
      body: roleChange,
      failure,
      operation: operatorOperation('changeRole', 'Give a member another role', { 200: memberRow }, [
        'not_found',
        'invalid_transition',
      ]),
      handle: async (request) => {
        const { role: wanted } = readAll(roleChange, request.body);
        const id = Uuid.parse(request.params.id);
        const changed = await changeRole(deps, byOperator(request), orgOf(request.params), id, wanted);
        return { status: 200, body: memberBody(changed) };
      },
    }),
    route({
      method: 'DELETE',
      path: `${orgPath}/members/:id`,
      access: officeAccess,
      params: orgAndId,
      failure,
      operation: operatorOperation(
        'removeMember',
        'Remove a member, or withdraw an invitation',
        { 200: z.object({ id: z.string(), removed: z.literal(true) }) },
        ['not_found', 'invalid_transition'],
      ),
      handle: async (request) => {
        const id = Uuid.parse(request.params.id);
        await removeMember(deps, byOperator(request), orgOf(request.params), id);
        return { status: 200, body: { id, removed: true } };
      },
    }),
    route({
      method: 'POST',
      path: `${orgPath}/members/:id/reset`,
      access: officeAccess,
      params: orgAndId,
      failure,
      operation: operatorOperation(
        'resetPassword',
        'Make a link with which a member chooses a new password, once, within 24 hours',
        { 201: link },
        ['not_found'],
      ),
      handle: async (request) => {
        const id = Uuid.parse(request.params.id);
        const { token, ends } = await issueReset(deps, byOperator(request), orgOf(request.params), id);
        return linkBody(paths.reset, { link: token }, ends);
      },
    }),
  ];
};
