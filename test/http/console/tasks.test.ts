import { expect } from 'chai';
import { steps } from '../../../domain/card.js';
import { house } from '../../../domain/members.js';
import { describeInBrowser } from '../../support/http/browser.js';
import { keyboardOn, mouseOn, type Hand } from '../../support/http/hands.js';
import { sampleOf } from '../../support/runner/effort.js';
import { startLively, type Lively } from '../../support/http/lively.js';
import { aCard } from '../../support/http/service.js';
import { memberOf, password } from '../../support/http/visitor.js';
import { looking } from '../../support/http/watched.js';

type Task = (hand: Hand, lively: Lively) => Promise<void>;

/** What people come for, each from home on. */
const tasks: Readonly<Record<string, Task>> = {
  'make a key and revoke it': async ({ press, type, see }, { tenant, service }) => {
    await press(/^Integrations$/);
    await type(/^Label/, 'Till');
    await press(/^Create key$/);
    await see('It is shown only now.');
    await press(/^I have stored it$/);
    await see('Till');
    await press(/^Revoke$/);
    await press(/^Revoke forever$/);
    await see('The key is revoked.');
    const { rows } = await service.operator(`/operator/v1/organizations/${tenant.org}/keys`);
    expect(rows.find(({ label }) => label === 'Till')?.['revoked_at']).to.be.a('string');
  },
  'make a hook, give it a message, pause it, and resume it': async ({ press, type, see }) => {
    await press(/^Integrations$/);
    await press(/^Inbound hooks$/);
    await type(/^Label/, 'Form on our site');
    await press(/^Make the hook$/);
    await see('Its URL is shown only now.');
    await press(/^I have stored it: write its message$/);
    await type(/^Template/, 'Dear {{first_name}}, welcome!');
    await press(/^Save$/);
    await see('Saved. Applies to new calls.');
    await press(/^Pause$/);
    await see('Paused. Calls that arrive');
    await press(/^Resume$/);
    await see('Hook resumed.');
  },
  'see a card as it would be written, send it, and find it in the statement': async (
    { press, type, choose, see },
    { tenant },
  ) => {
    await press(/^Send a card$/);
    await type(/^Name/, 'Ada Lovelace');
    await type(/^Street/, '12 Analytical Way');
    await type(/^City/, 'Springfield');
    await choose(/^State/, 'IL');
    await type(/^ZIP/, '62701');
    await type(/^Message/, 'Thank you, Ada.');
    await type(/^Reference/, 'by hand');
    await press(/^Preview$/);
    await see('Ready to send');
    await press(/^Send the card$/);
    await see('Card for Ada Lovelace');
    const { rows } = await tenant.api('/api/v1/cards?reference=by+hand');
    expect(rows.length).to.be.above(0);
    await press(/^Credits$/);
    await see(`Spent: ${String(rows[0]?.['id'])}`);
  },
  'find a card by its reference and by its code, and cancel it': async ({ press, type, see }, { tenant }) => {
    const { id } = await tenant.api('/api/v1/cards', { body: aCard({ reference: 'to cancel' }) });
    await press(/^Cards$/);
    await type(/^Code or reference/, 'to cancel');
    await press(/^Find$/);
    await see(id);
    await type(/^Code or reference/, id);
    await press(/^Find$/);
    await press(/^Cancel this card$/);
    await press(/^Cancel the card$/);
    await see('Cancelled');
    expect((await tenant.api(`/api/v1/cards/${id}`)).body['status']).to.equal('cancelled');
  },
  'invite somebody': async ({ press, type, see }) => {
    await press(/^Settings$/);
    await press(/^Members$/);
    await type(/^E-mail/, 'nia@acme.example');
    await type(/^Name/, 'Nia Ott');
    await press(/^Create invitation$/);
    await see('Pass it on yourself');
    await press(/^I have passed it on$/);
    await see('invited, until');
  },
  'report the six steps of a card, at a telephone': async ({ press, type, see }, { tenant }) => {
    const { id } = await tenant.api('/api/v1/cards', { body: aCard() });
    await type(/^Scan or type a code/, id);
    await press(/^Open the card$/);
    await press(/^Take it to the floor$/);
    for (const _ of steps) {
      await press(/^Start: /);
      await press(/^Done: /);
    }
    await see('Nothing is to be done with this card.');
    expect((await tenant.api(`/api/v1/cards/${id}`)).body['status']).to.equal('posted');
  },
  'register an endpoint': async ({ press, type, see }, { receiver }) => {
    await press(/^Integrations$/);
    await press(/^Webhooks$/);
    await type(/^URL/, `${receiver}till`);
    await press(/^Register$/);
    await see('This is shown once.');
    await press(/^I have stored it$/);
    await see('All events');
  },
  'read a failed delivery, send it again, switch its endpoint on, and replay': async (
    { press, see },
    { endpoints, tenant },
  ) => {
    await press(/^Integrations$/);
    await press(/^Webhooks$/);
    await press(/crm$/);
    await press(/^card\.held$/);
    await see('Attempts');
    await press(/^Retry now$/);
    await see('The delivery is due now.');
    await press(/^switched on$/);
    await press(/^Switch on$/);
    await see('The endpoint is enabled.');
    await press(/^Replay$/);
    await see('All events since then that the endpoint has not accepted are being sent.');
    const { rows } = await tenant.api(`/api/v1/deliveries?endpoint=${endpoints.failing}&type=card.held`);
    expect(rows[0]?.['attempts']).to.have.length.above(0);
  },
};

/** Who comes for it, and where that begins, if not the developer at home. */
const others: Readonly<Record<string, { readonly email: string; readonly sees: string }>> = {
  'invite somebody': { email: 'ada@acme.example', sees: 'credits, 1 for each card' },
  'report the six steps of a card, at a telephone': {
    email: 'floor@acme.example',
    sees: 'Scan or type a code',
  },
};
const developer = { email: 'bo@acme.example', sees: 'credits, 1 for each card' };
const telephone = { width: 360, height: 740 };

const hands = {
  'without scripts': { javaScriptEnabled: false, handOn: mouseOn },
  'by the keyboard alone': { javaScriptEnabled: true, handOn: keyboardOn },
};

describeInBrowser('what people come for', (browser) => {
  for (const [how, { javaScriptEnabled, handOn }] of Object.entries(hands))
    describe(how, () => {
      let lively: Lively;
      before(async function () {
        this.timeout(120_000);
        lively = await startLively();
        await memberOf(lively.service, house, 'floor', 'floor@acme.example', 'Flo');
      });
      after(() => lively.stop());

      for (const [what, task] of sampleOf(Object.entries(tasks), 2, { of: how }))
        it(what, async () => {
          const { baseUrl } = lively.service;
          const { email, sees } = others[what] ?? developer;
          const viewport = what.endsWith('telephone') ? { viewport: telephone } : {};
          const options = { javaScriptEnabled, ...viewport };
          await looking(browser(), { baseUrl, options }, async (context) => {
            const page = await context.newPage();
            const hand = handOn(page);
            await page.goto(`${baseUrl}/console/sign-in`);
            await hand.type(/^E-mail/, email);
            await hand.type(/^Password/, password);
            await hand.press(/^Sign in$/);
            await hand.see(sees);
            await task(hand, lively);
          });
        });
    });
});
