import { expect } from 'chai';
import { maxDescriptionLength } from '../../adapters/http/schema/fields.js';
import { readSettings } from '../../bin/settings/settings.js';
import { DomainError } from '../../domain/errors.js';
import type { Instant, Uuid } from '../../domain/ids.js';
import { publicEventTypes } from '../../domain/public-events.js';
import {
  change,
  disable, enable, register, remove, rotate, secretsAt, subscribes, webhookEndpoints, type Endpoint, type WebhookEndpoints, type WebhookEvent,
} from '../../domain/webhook-endpoints.js'; // prettier-ignore
import type { WebhookUrl } from '../../domain/webhook-url.js';

const id = '0e2f3f5c-8a67-5a50-9d5f-1d2b8a6f0001' as Uuid;
const other = '0e2f3f5c-8a67-5a50-9d5f-1d2b8a6f0002' as Uuid;
const url = 'https://example.com/hook' as WebhookUrl;
const at = '2026-03-01T12:00:00.000Z' as Instant;

type Decision = (state: WebhookEndpoints) => WebhookEvent[];

const after = (...decisions: readonly Decision[]): WebhookEndpoints =>
  decisions.reduce(
    (state, decide) => decide(state).reduce(webhookEndpoints.evolve, state),
    webhookEndpoints.initial,
  );

const registered = register({
  id,
  url,
  events: ['card.mailed'],
  description: 'CRM',
  key: 'k1',
  at,
  maxEndpoints: 100,
});
const codeOf = (decide: () => unknown): string => {
  try {
    decide();
    return 'accepted';
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
};

describe('webhook endpoints', () => {
  it('are registered with their first secret', () => {
    expect(registered(webhookEndpoints.initial)).to.deep.equal([
      {
        type: 'EndpointRegistered',
        data: {
          id,
          url,
          events: ['card.mailed'],
          description: 'CRM',
          secret: { key: 'k1', generation: 0 },
          at,
        },
      },
    ]);
    expect(after(registered).endpoints).to.deep.equal([
      {
        id,
        url,
        events: ['card.mailed'],
        description: 'CRM',
        disabledReason: null,
        secrets: [{ key: 'k1', generation: 0, since: at }],
        version: 0,
        enabledAt: 0,
      },
    ]);
  });

  it('are one per URL: a second registration records nothing, whatever its events', () => {
    expect(
      register({ id: other, url, events: [], description: null, key: 'k1', at, maxEndpoints: 100 })(
        after(registered),
      ),
    ).to.deep.equal([]);
  });

  it('free their URL when they are deleted', () => {
    const again = register({
      id: other,
      url,
      events: [],
      description: null,
      key: 'k1',
      at,
      maxEndpoints: 100,
    });
    expect(after(registered, remove(id), again))
      .to.deep.include({ deleted: [id] })
      .and.to.have.nested.property('endpoints[0].id', other);
  });

  it('are deleted once; deleting an unknown id records nothing', () => {
    expect(remove(id.toUpperCase())(after(registered))).to.deep.equal([
      { type: 'EndpointDeleted', data: { id } },
    ]);
    expect(remove(id)(after(registered, remove(id)))).to.deep.equal([]);
    expect(remove('nonsense')(after(registered))).to.deep.equal([]);
  });

  it('are disabled once, with the reason', () => {
    const twice = disable(id, 0, 'twenty failures');
    expect(twice(after(registered))).to.deep.equal([
      { type: 'EndpointDisabled', data: { id, reason: 'twenty failures' } },
    ]);
    expect(twice(after(registered, twice))).to.deep.equal([]);
    expect(after(registered, twice).endpoints[0]).to.include({ disabledReason: 'twenty failures' });
  });

  it('are not disabled by failures from before they were enabled again', () => {
    const state = after(registered, disable(id, 0, 'first'), enable(id, false));
    expect(state.endpoints[0]).to.include({ disabledReason: null, version: 2, enabledAt: 2 });
    expect(disable(id, 0, 'late')(state)).to.deep.equal([]);
    expect(disable(id, 2, 'second')(state)).to.have.length(1);
  });

  it('are changed in what is named, and once', () => {
    const narrowed = change(id, { events: ['card.held'] });
    expect(narrowed(after(registered))).to.deep.equal([
      { type: 'EndpointChanged', data: { id, events: ['card.held'], description: 'CRM' } },
    ]);
    const named = change(id.toUpperCase(), { description: 'Shop' });
    const state = after(registered, narrowed, named);
    expect(state.endpoints[0]).to.deep.include({ events: ['card.held'], description: 'Shop', version: 2 });
    for (const repeat of [narrowed, named, change(id, {})]) expect(repeat(state)).to.deep.equal([]);
    expect(
      after(registered, narrowed, named, change(id, { events: [], description: null })).endpoints[0],
    ).to.deep.include({ events: [], description: null });
    expect(codeOf(() => change(other, {})(state))).to.equal('not_found');
  });

  it('are enabled once; an unknown id is not found', () => {
    expect(enable(id, false)(after(registered))).to.deep.equal([]);
    expect(enable(id, false)(after(registered, disable(id, 0, 'why')))).to.deep.equal([
      { type: 'EndpointEnabled', data: { id } },
    ]);
    expect(codeOf(() => enable(other, false)(after(registered)))).to.equal('not_found');
    expect(codeOf(() => rotate(other, 'k1', at)(after(registered)))).to.equal('not_found');
  });

  it('are enabled again while they are active if they have tripped, so that the disable comes too late', () => {
    const state = after(registered, enable(id, true));
    expect(state.endpoints[0]).to.include({ disabledReason: null, version: 1, enabledAt: 1 });
    expect(disable(id, 0, 'twenty failures')(state)).to.deep.equal([]);
  });

  it('are refused beyond the most that an organization may have; a known URL is not', () => {
    const more = (number: number) =>
      register({
        id: other,
        url: `https://example.com/${number}` as WebhookUrl,
        events: [],
        description: null,
        key: 'k1',
        at,
        maxEndpoints: 2,
      });
    expect(codeOf(() => more(3)(after(more(1), more(2))))).to.equal('too_many_endpoints');
    expect(codeOf(() => more(2)(after(more(1), more(2))))).to.equal('accepted');
  });

  it('of an organization fit into one document of 16 MiB, however large each is', () => {
    const largest: Endpoint = {
      id,
      url: `https://example.com/${'x'.repeat(2_048)}` as WebhookUrl,
      events: publicEventTypes,
      description: '🎂'.repeat(maxDescriptionLength),
      disabledReason: 'é'.repeat(1_000),
      secrets: [
        { key: 'k'.repeat(100), generation: 2 ** 31, since: at },
        { key: 'k'.repeat(100), generation: 2 ** 31, since: at },
      ],
      version: 2 ** 31,
      enabledAt: 2 ** 31,
    };
    const all = Array.from(
      { length: readSettings({ WEBHOOK_ENDPOINTS: '1000' }).webhooks.endpoints },
      () => largest,
    );
    expect(Buffer.byteLength(JSON.stringify({ endpoints: all, deleted: Array(100).fill(id) }))).to.be.below(
      2 ** 24,
    );
    expect(() => readSettings({ WEBHOOK_ENDPOINTS: '1001' })).to.throw('WEBHOOK_ENDPOINTS');
  });

  it('sign with two secrets at most, however often they are rotated', () => {
    const rotations = Array.from({ length: 200 }, () => rotate(id, 'k1', at));
    const [endpoint] = after(registered, ...rotations).endpoints;
    expect(endpoint?.secrets.map(({ generation }) => generation)).to.deep.equal([200, 199]);
    const stored = [3, 2, 1].map((generation) => ({ key: 'k1', generation, since: at }));
    expect(secretsAt(stored, Date.parse(at))).to.have.length(2);
  });

  it('that were deleted leave the state, all but the last ones', () => {
    let state = webhookEndpoints.initial;
    for (let count = 0; count < 1_000; count++) {
      for (const event of registered(state)) state = webhookEndpoints.evolve(state, event);
      for (const event of remove(id)(state)) state = webhookEndpoints.evolve(state, event);
    }
    expect(state.endpoints).to.deep.equal([]);
    expect(state.deleted).to.have.length(100);
  });

  it('also sign with the old secret for 24 hours after a rotation', () => {
    const [endpoint] = after(registered, rotate(id, 'k2', '2026-03-02T00:00:00.000Z' as Instant)).endpoints;
    const generations = (time: string) =>
      secretsAt(endpoint?.secrets ?? ([] as never), Date.parse(time)).map(
        ({ key, generation }) => `${key}/${generation}`,
      );
    expect(generations('2026-03-02T00:00:00.000Z')).to.deep.equal(['k2/1', 'k1/0']);
    expect(generations('2026-03-02T23:59:59.999Z')).to.deep.equal(['k2/1', 'k1/0']);
    expect(generations('2026-03-03T00:00:00.000Z')).to.deep.equal(['k2/1']);
  });

  it('forget expired secrets at the next rotation', () => {
    const rotations = ['02T00', '02T12', '04T00'].map((time) =>
      rotate(id, 'k1', `2026-03-${time}:00:00.000Z` as Instant),
    );
    expect(
      after(registered, ...rotations).endpoints[0]?.secrets.map(({ generation }) => generation),
    ).to.deep.equal([3, 2]);
    expect(
      after(registered, ...rotations.slice(0, 2)).endpoints[0]?.secrets.map(({ generation }) => generation),
    ).to.deep.equal([2, 1]);
  });

  it('without a list of events subscribe to every event type, new ones included', () => {
    expect(subscribes({ events: [] }, 'card.delivered')).to.equal(true);
    expect(subscribes({ events: ['card.mailed'] }, 'card.mailed')).to.equal(true);
    expect(subscribes({ events: ['card.mailed'] }, 'card.created')).to.equal(false);
  });
});
