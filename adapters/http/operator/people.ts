import { z } from 'zod';
import {
  changeRole,
  inviteMember,
  listMembers,
  listMembersAt,
  removeMember,
  type PeopleDeps,
} from '../../../application/access/people.js';
import { issueReset } from '../../../application/access/password-resets.js';
import { issueLink } from '../../../application/access/sign-in-links.js';
import { root } from '../../../application/access/sessions.js';
import { maxContactTextLength } from '../../../domain/contact.js';
import { readMailbox } from '../../../domain/email.js';
import { Uuid } from '../../../domain/ids.js';
import type { Member } from '../../../domain/members.js';
import { memberRoles, staffRoles } from '../../../domain/permissions.js';
import { readLine } from '../../../domain/text.js';
import { pageUrl, paths, placeOf } from '../web/paths.js';
import { text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { asOfBody, asOfField, atQuery, momentFrom } from '../api/as-of.js';
import { byOperator, rootAccess, operatorRoute } from './route.js';
import { instant, listOf, timestamp, timestampAt, wholeList } from '../api/responses.js';
import type { Route } from '../server/route.js';

export interface PeopleRouteDeps extends PeopleDeps {
  readonly baseUrl: () => string;
}

const role = z.enum([...memberRoles, ...staffRoles]).meta({
  description: `Of an organization ${memberRoles.join(', ')}; of the house ${staffRoles.join(', ')}.`,
  'x-error-code': 'invalid_parameter',
});
export const newMember = z.object({
  email: text('The e-mail address.', 'ada@example.com', { list: 'of one', rule: readMailbox }),
  name: text('The name.', 'Ada Byron', { maxLength: maxContactTextLength, rule: readLine }),
  role,
});
export const roleChange = z.object({ role });
const linkTo = (page: string) =>
  z.object({
    url: shown.url(
      'Works once. It is shown only here.',
      `https://cards.example/console/${page}/0pR7sT2uVx5yZa8b`,
    ),
    expires_at: instant('When it stops working.'),
  });
const memberRow = z.object({
  id: shown.idOf('member'),
  email: shown.textOrNull('The e-mail address.', 'ada@example.com'),
  name: shown.textOrNull('The name.', 'Ada Lovelace'),
  role,
  invited: shown.boolean('True until the invitation is accepted.'),
  invitation_expires_at: instant('When an open invitation stops working.').nullable(),
});

const memberBody = ({ id, person, role: has, account, expires }: Member) => ({
  id,
  email: person?.email ?? null,
  name: person?.name ?? null,
  role: has,
  invited: account === null,
  invitation_expires_at: account === null ? timestamp(expires) : null,
});

/**
 * The people who may sign in, for the operator. The use cases decide what a key for the office may not do to
 * the staff: it depends on the account.
 */
export const peopleRoutes = (deps: PeopleRouteDeps): readonly Route[] => {
  const linkBody = (path: string, params: Readonly<Record<string, string>>, expires: string) => {
    const { origin, prefix } = placeOf(deps.baseUrl());
    return { body: { url: `${origin}${pageUrl(prefix, path, params)}`, expires_at: expires } };
  };
  return [
    operatorRoute('POST /console-links', {
      id: 'makeConsoleLink',
      summary: 'Make a link with which the operator enters the console, once, within 15 minutes',
      // The link lets its user in as the holder of the operator token.
      access: rootAccess,
      rehearses: true,
      answers: { 201: linkTo('enter') },
      handle: async () => {
        const { token, ends } = await issueLink(deps, 'enter', root);
        return linkBody(paths.enter, { link: token }, timestampAt(ends));
      },
    }),
    operatorRoute(`POST /organizations/:org/members`, {
      id: 'inviteMember',
      summary: 'Invite a person, or renew an invitation; the service sends no mail, so pass the link on',
      body: whole(newMember),
      answers: { 201: linkTo('join') },
      errors: ['invalid_transition'],
      handle: async (request, { email, name, role }) => {
        const { org } = request.params;
        const invited = { email, name, role };
        const { token, expires } = await inviteMember(deps, byOperator(request), org, invited);
        return linkBody(paths.join, { organization: org, invitation: token }, timestamp(expires));
      },
    }),
    operatorRoute(`GET /organizations/:org/members`, {
      id: 'listMembers',
      summary: 'List the members of an organization, invited ones too, as they are or as they were',
      query: atQuery,
      answers: { 200: listOf(memberRow, 'MemberList', asOfField) },
      handle: async ({ params: { org }, query }) => {
        const moment = await momentFrom(deps.store, query.at, 'at');
        if (moment === null) return { body: wholeList((await listMembers(deps, org)).map(memberBody)) };
        const { was, asOf } = await listMembersAt(deps, org, moment);
        return { body: { ...wholeList(was.map(memberBody)), ...asOfBody(asOf) } };
      },
    }),
    operatorRoute(`PATCH /organizations/:org/members/:id`, {
      id: 'changeRole',
      summary: 'Give a member another role',
      body: whole(roleChange),
      answers: { 200: memberRow },
      errors: ['invalid_transition'],
      handle: async (request, { role: wanted }) => {
        const id = Uuid.parse(request.params.id);
        const changed = await changeRole(deps, byOperator(request), request.params.org, id, wanted);
        return { body: memberBody(changed) };
      },
    }),
    operatorRoute(`DELETE /organizations/:org/members/:id`, {
      id: 'removeMember',
      summary: 'Remove a member, or withdraw an invitation',
      answers: { 200: z.object({ id: shown.idOf('member'), removed: shown.alwaysTrue }) },
      errors: ['invalid_transition'],
      handle: async (request) => {
        const id = Uuid.parse(request.params.id);
        await removeMember(deps, byOperator(request), request.params.org, id);
        return { body: { id, removed: true } };
      },
    }),
    operatorRoute(`POST /organizations/:org/members/:id/reset`, {
      id: 'resetPassword',
      summary: 'Make a link with which a member chooses a new password, once, within 24 hours',
      answers: { 201: linkTo('reset') },
      handle: async (request) => {
        const id = Uuid.parse(request.params.id);
        const { token, ends } = await issueReset(deps, byOperator(request), request.params.org, id);
        return linkBody(paths.reset, { link: token }, timestampAt(ends));
      },
    }),
  ];
};
