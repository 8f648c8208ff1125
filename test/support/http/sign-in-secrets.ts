import { expect } from 'chai';
import type { Client, RunningService } from './service.js';
import { Visitor, type Page } from './visitor.js';

/** What was used to sign in: the secrets by what they are, and every page that was seen meanwhile. */
export interface SignInSecrets {
  readonly secrets: readonly (readonly [string, readonly Buffer[]])[];
  readonly pages: readonly Page[];
}

const passwords = {
  'the first password': 'walnut gondola tuesday',
  'the second password': 'glacier thimble orchard',
  'the wrong password': 'meadow lantern bagpipe',
};

/** Spends a link, an invitation, a link for a new password, and passwords, rightly and wrongly. */
export const spendSignInSecrets = async (
  { baseUrl, operator }: Pick<RunningService, 'baseUrl'> & { readonly operator: Client },
  org: string,
): Promise<SignInSecrets> => {
  const members = `/operator/v1/organizations/${org}/members`;
  const [first, second, wrong] = Object.values(passwords);
  if (first === undefined || second === undefined || wrong === undefined) throw new Error('three passwords');
  const pathOf = async (path: string, body?: object): Promise<string> => {
    const made = await operator(path, { method: 'POST', ...(body && { body }) });
    return new URL(String(made.body['url'])).pathname;
  };
  const pages: Page[] = [];
  const visitor = new Visitor({ baseUrl });
  /** Looks at a page, sends its form, and sends it again if it had its effect. */
  const spend = async (path: string, action: string, status: number, fields = {}): Promise<void> => {
    pages.push(await visitor.get(path));
    const form = { ...(await visitor.form(path, action)), ...fields };
    const answer = await visitor.post(path, form);
    expect(answer.status, path).to.equal(status);
    pages.push(answer);
    if (status === 303) pages.push(await visitor.post(path, form));
  };

  const email = 'cy@leeward.example';
  const enter = await pathOf('/operator/v1/console-links');
  await spend(enter, 'enter', 303);
  const join = await pathOf(members, { email, name: 'Cy Starboard', role: 'owner' });
  await spend(join, 'join', 422, { name: 'Cy Starboard', password: 'walnut' });
  await spend(join, 'join', 303, { name: 'Cy Starboard', password: first });
  await spend('/console/sign-in', 'signIn', 422, { email, password: wrong });
  await spend('/console/me', 'changePassword', 422, { password: wrong, next: second });
  const member = (await operator(members)).rows.find((row) => row['email'] === email);
  const reset = await pathOf(`${members}/${String(member?.['id'])}/reset`);
  await spend(reset, 'reset', 303, { password: second });
  for (const path of ['/console', '/console/me', `/console/${org}`, enter, join, reset])
    pages.push(await visitor.get(path));

  const tokens = { 'the link': enter, 'the invitation': join, 'the link for a new password': reset };
  const cookie = (visitor.cookie ?? '').replace(/^session=/, '');
  for (const token of [cookie, ...Object.values(tokens).map((path) => path.split('/').at(-1) ?? '')])
    expect(token).to.match(/^[\w-]{43}$/);
  const texts = [
    ...Object.entries(tokens).map(([what, path]) => [what, path.slice(-43)] as const),
    ...Object.entries(passwords),
    ['the cookie of a member', cookie] as const,
  ];
  return { pages, secrets: texts.map(([what, text]) => [what, [Buffer.from(text)]] as const) };
};
