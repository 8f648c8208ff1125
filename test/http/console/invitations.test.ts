import { expect } from 'chai';
import { house } from '../../../domain/members.js';
import { built, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { pathOf, Visitor } from '../../support/http/visitor.js';

const passwords = ['walnut gondola tuesday', 'glacier thimble orchard'] as const;
/** How often two come at once: each time a little further apart. */
const rounds = 50;

/** Sends a form, again while others wait to be judged: that takes a thread, which begins with the first. */
const sent = async (browser: Visitor, path: string, fields: Readonly<Record<string, string>>) => {
  for (;;) {
    const { status } = await browser.post(path, fields);
    if (status !== 503) return status;
  }
};

interface Try {
  readonly status: number;
  readonly password: string;
  readonly browser: Visitor;
}

/** What came of tries, those that went well first: is the browser in, and does its password sign in? */
const outcomesOf = (
  service: RunningService,
  email: string,
  tries: readonly Try[],
  from: string,
): Promise<readonly string[]> =>
  Promise.all(
    tries
      .toSorted((a, b) => a.status - b.status)
      .map(async ({ status, password, browser }) => {
        const isIn = (await browser.get('/console/me')).status === 200;
        const fresh = new Visitor(service, from);
        const signIn = await fresh.submit('/console/sign-in', 'signIn', { email, password });
        return `${status}, ${isIn ? 'in' : 'out'}, its password ${signIn.status}`;
      }),
  );

/** Somebody who was invited, and has joined with a new account that has this password. */
const memberWith = async (
  { operator, ...service }: RunningService,
  org: string,
  email: string,
  password: string,
  from: string | null = null,
): Promise<Visitor> => {
  const invited = operator(`/operator/v1/organizations/${org}/members`, {
    body: { email, name: 'Ada', role: 'owner' },
  });
  const visitor = new Visitor(service, from);
  const join = pathOf((await built(invited)).body['url']);
  const fields = { ...(await visitor.form(join, 'join')), name: 'Ada', password };
  expect(await sent(visitor, join, fields)).to.equal(303);
  return visitor;
};

describe('an invitation', () => {
  let service: RunningService;
  let tenant: Tenant;
  let members: string;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    members = `/operator/v1/organizations/${tenant.org}/members`;
  });
  after(() => service.stop());

  const invite = async (email: string): Promise<string> => {
    const { body } = await service.operator(members, { body: { email, name: 'Ada', role: 'owner' } });
    return pathOf(body['url']);
  };
  /** The types of the events that were recorded about people, in their order. */
  const recorded = async (): Promise<readonly string[]> => {
    const headers = { accept: 'application/jsonl' };
    const { text } = await service.operator('/operator/v1/events?until=head', { headers });
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { readonly type: string }).type);
  };

  it('lets in one of two who hold it, and leaves nothing of the other: no password, no session, no event', async function () {
    this.timeout(300_000);
    const once = [
      'accepted: 303, in, its password 303',
      'refused: 404, out, its password 422',
      'AccountOpened, InvitationAccepted, OrganizationJoined',
    ].join('; ');
    const outcomes: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const email = `ada-${round}@example.com`;
      const join = await invite(email);
      const before = (await recorded()).length;
      const holders = await Promise.all(
        passwords.map(async (password, at) => {
          const browser = new Visitor(service, `127.0.${round + 1}.${at + 1}`);
          return { password, browser, form: await browser.form(join, 'join') };
        }),
      );
      const tries = await Promise.all(
        holders.map(async ({ password, browser, form }, at) => {
          // The second comes at the same time, or a little later.
          for (let later = 0; later < at * (round % 10) * 3; later += 1) await browser.get('/healthz');
          const status = await sent(browser, join, { ...form, name: 'Ada', password });
          return { status, password, browser };
        }),
      );
      const [first, second] = await outcomesOf(service, email, tries, `127.0.${round + 1}.3`);
      const events = (await recorded()).slice(before).toSorted().join(', ');
      outcomes.push(`accepted: ${first}; refused: ${second}; ${events}`);
    }
    expect(outcomes.filter((outcome) => outcome !== once)).to.deep.equal([]);
  });

  it('sets up another account for an address that has one, and neither ever opens what is the other’s', async () => {
    const [owner, squatter] = passwords;
    const email = 'owner@example.com';
    const inTheirs = await memberWith(service, tenant.org, email, owner);
    const foreign = await service.tenant();
    const inForeign = await memberWith(service, foreign.org, email, squatter);
    const homes = [`/console/${tenant.org}`, `/console/${foreign.org}`];
    const opens = async (visitor: Visitor) =>
      Promise.all(homes.map(async (home) => (await visitor.get(home)).status));
    expect([await opens(inTheirs), await opens(inForeign)]).to.deep.equal([
      [200, 404],
      [404, 200],
    ]);
    const signedIn = async (password: string): Promise<Visitor> => {
      const visitor = new Visitor(service);
      await visitor.submit('/console/sign-in', 'signIn', { email, password });
      return visitor;
    };
    expect([await opens(await signedIn(owner)), await opens(await signedIn(squatter))]).to.deep.equal([
      [200, 404],
      [404, 200],
    ]);
    // A password of the one is no password of the other.
    const taken = await inForeign.submit('/console/me', 'changePassword', {
      password: squatter,
      next: owner,
    });
    expect([taken.status, taken.text.includes('Another account with this e-mail address')]).to.deep.equal([
      422,
      true,
    ]);
    await inForeign.submit('/console/me', 'signOutOthers');
    expect(await opens(inTheirs)).to.deep.equal([200, 404]);
    const join = pathOf(
      (
        await built(
          service.operator(`/operator/v1/organizations/${house}/members`, {
            body: { email, name: 'Ada', role: 'floor' },
          }),
        )
      ).body['url'],
    );
    const staff = new Visitor(service);
    expect((await staff.submit(join, 'joinWith', { current: owner })).status).to.equal(303);
    expect([await opens(staff), (await staff.get('/console/house/floor')).status]).to.deep.equal([
      [200, 404],
      200,
    ]);
    expect((await inForeign.get('/console/house/floor')).status).to.equal(404);
  });

  it('looks the same and refuses the same for an address that has an account and for one that has none', async () => {
    const [known, password] = ['known@example.com', passwords[0]];
    await memberWith(service, (await service.tenant()).org, known, password);
    const [other] = ['other@example.com'];
    const seen = await Promise.all(
      [known, other].map(async (email) => {
        const join = await invite(email);
        const visitor = new Visitor(service);
        const pages = [
          await visitor.get(join),
          await visitor.submit(join, 'joinWith', { current: 'a wrong one' }),
          await visitor.submit(join, 'join', { name: 'Ada', password: 'short' }),
          await visitor.submit(join, 'join', { name: 'Ada', password: 'glacier thimble orchard' }),
        ];
        return pages.map(({ status, text }) => ({
          status,
          length: text.length,
          text: text
            .replaceAll(email, '')
            .replaceAll(/value="[\w-]{43}"|req_[\w-]+/g, '')
            .replaceAll(join, ''),
        }));
      }),
    );
    expect(seen[0]?.map(({ status }) => status)).to.deep.equal([200, 422, 422, 303]);
    for (const [at, page] of (seen[0] ?? []).entries()) expect(page).to.deep.equal(seen[1]?.[at]);
  });
});

describe('a link for a new password', () => {
  let service: RunningService;
  let tenant: Tenant;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
  });
  after(() => service.stop());

  it('sets one password of two that are sent with it at once, and lets in nobody else', async function () {
    this.timeout(300_000);
    const members = `/operator/v1/organizations/${tenant.org}/members`;
    const outcomes: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const email = `bo-${round}@example.com`;
      await memberWith(service, tenant.org, email, 'meadow lantern bagpipe', `127.1.${round + 1}.4`);
      const { rows } = await service.operator(members);
      const member = rows.find((row) => row['email'] === email);
      const { body } = await service.operator(`${members}/${String(member?.['id'])}/reset`, {
        method: 'POST',
      });
      const reset = pathOf(body['url']);
      const holders = await Promise.all(
        passwords.map(async (password, at) => {
          const browser = new Visitor(service, `127.1.${round + 1}.${at + 1}`);
          return { password, browser, form: await browser.form(reset, 'reset') };
        }),
      );
      const tries = await Promise.all(
        holders.map(async ({ password, browser, form }, at) => {
          for (let later = 0; later < at * (round % 10) * 3; later += 1) await browser.get('/healthz');
          const status = await sent(browser, reset, { ...form, password });
          return { status, password, browser };
        }),
      );
      const [first, second] = await outcomesOf(service, email, tries, `127.1.${round + 1}.3`);
      outcomes.push(`taken: ${first}; refused: ${second}`);
    }
    const once = 'taken: 303, in, its password 303; refused: 404, out, its password 422';
    expect(outcomes.filter((outcome) => outcome !== once)).to.deep.equal([]);
  });
});
