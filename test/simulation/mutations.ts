/**
 * Rules of the service, each with the change to the built code that leaves it out. `npm run mutate` makes one
 * such change at a time and counts how many seeds of the simulation it takes to notice.
 * (docs/testing.md#mutations)
 */
export interface Mutation {
  /** The rule that is left out. */
  readonly rule: string;
  /** Below `dist/`. */
  readonly file: string;
  /** Stands there once. */
  readonly text: string;
  readonly instead: string;
  /** Whether the simulation of money alone is asked, which is quicker. */
  readonly money?: true;
  /** A trouble in which it shows; without it the seeds draw theirs. */
  readonly weather?: string;
  /** The folders of tests that notice it, below `test/`: these are run instead of the simulation. */
  readonly tests?: readonly string[];
}

const money = ['application/money', 'application/cards'];

export const mutations: Readonly<Record<string, Mutation>> = {
  'slot-only': {
    rule: 'Money, rule 1: the cause of a spend names its command',
    file: 'domain/credits.js',
    text: '`${card}@${revision}/${command}`',
    instead: '`${card}@${revision}`',
    money: true,
  },
  'blind-retry': {
    rule: 'Money, rule 2: who repeats a movement looks for it first',
    file: 'application/money/ledger-queue.js',
    text: 'if (wanted.has(event.id))',
    instead: 'if (false)',
    money: true,
  },
  'late-look': {
    rule: 'Money, rule 2: the ledger is read before the event that owes is written',
    file: 'application/money/two-streams.js',
    text: 'const moved = await deps.ledgers.move({ org, command, movements, since })',
    instead:
      'const moved = await deps.ledgers.move({ org, command, movements, since: (await deps.streams.load(ledger, org)).revision })',
    money: true,
  },
  'blind-purchase': {
    rule: 'Money, rule 2: who repeats a purchase looks for it first',
    file: 'application/money/bring-ordered.js',
    text: '= await find(deps.store, org, movement, ledgerRevision);',
    instead: '= { found: null, since: (await deps.store.readLast(`credits-${org}`))?.revision ?? -1 };',
    money: true,
  },
  'no-owes': {
    rule: 'Money, rule 3: what an event owes is returned, whoever dies',
    file: 'domain/open-money.js',
    text: 'if (amount > 0 && !this.#early.delete(name))',
    instead: 'if (false)',
    money: true,
  },
  'no-void': {
    rule: 'Money, rule 4: the slot is taken before a spend is called void',
    file: 'application/money/settle-spend.js',
    text: 'if (at.revision >= slot.revision)',
    instead: 'if (true)',
    money: true,
  },
  'any-revision': {
    rule: 'Money, rule 5: a return is looked for from before its cause on',
    file: 'application/money/settle-spend.js',
    text: 'movements: [returnOf(cause, org, amount)], since }',
    instead: 'movements: [returnOf(cause, org, amount)] }',
    money: true,
  },
  'no-fence': {
    rule: 'Money, rule 6: a claim is taken over by comparing and setting',
    file: 'application/cards/claims.js',
    text: 'if (!(await idempotency.replace(old, next)))\n        return null;',
    instead: 'await idempotency.replace(old, next);',
    money: true,
    weather: 'stalling processes',
  },
  'any-card': {
    rule: 'Money, rule 7: a card that does not name the request is not trusted',
    file: 'application/cards/claims.js',
    text: 'isMade(state) && state.order.request === requestOf(request)',
    instead: 'isMade(state)',
    weather: 'codes that are taken',
  },
  'no-close': {
    rule: 'Money, rule 8: a code is closed before its key is freed',
    file: 'application/cards/claims.js',
    text: 'if (earlierOwner !== null && (await closeCode(deps, request, code, earlierOwner)))',
    instead: 'if (false)',
    money: true,
  },
  'lost-order': {
    rule: 'Money, rule 9: an order brings its movement, whoever dies',
    file: 'domain/open-money.js',
    text: '            this.#observeOrder(event);',
    instead: '            void 0;',
    money: true,
    weather: 'dying processes',
  },
  'kept-void-spend': {
    rule: 'Money, rule 4: a send whose code was taken brings its credit back itself',
    file: 'application/money/two-streams.js',
    text: 'await settleSpend(deps, command, spend).catch(',
    instead: 'await Promise.resolve(null).catch(',
    tests: money,
  },
  'returned-though-filled': {
    rule: 'Money, rule 4: a spend whose own command filled the slot is not void',
    file: 'application/money/settle-spend.js',
    text: 'if (isFilledByPayer(slot, filler))',
    instead: 'if (false)',
    tests: money,
  },
  'forgotten-spend': {
    rule: 'Money: a process remembers what it may have spent',
    file: 'application/money/two-streams.js',
    text: 'if (error instanceof OutcomeUnknown)\n            unfinished.spend(spend);',
    instead: '',
    tests: money,
  },
  'forgotten-debt': {
    rule: 'Money: a process remembers what it may owe',
    file: 'application/money/two-streams.js',
    text: 'deps.unfinished.debt({ org, card, revision, command: command.id, since });',
    instead: 'void 0;',
    tests: money,
  },
  'cause-twice-in-a-group': {
    rule: 'Money, rule 1: a cause is in an append once',
    file: 'application/money/ledger-queue.js',
    text: 'if (count === maxTaken || touches.some((name) => touched.has(name)))',
    instead: 'if (count === most)',
    tests: money,
  },
  'standing-balance': {
    rule: 'Money: each movement of an append is decided on the balance that the one before it leaves',
    file: 'application/money/ledger-queue.js',
    text: 'balance = decided.reduce((running, { event }) => ledger.evolve(running, event), balance);',
    instead: '',
    tests: money,
  },
  'refused-on-memory': {
    rule: 'Money: nothing is refused before the ledger was read',
    file: 'application/money/ledger-queue.js',
    text: 'if (refused.length === 0) {',
    instead: 'for (const { transfer, refusal } of refused) transfer.reject(refusal);\n            {',
    tests: money,
  },
  'kept-hash': {
    rule: 'Money: a ledger with returns is read back, because another process may have brought them',
    file: 'application/money/ledger-queue.js',
    text: 'if (prepared.every(({ transfer }) => transfer.since === undefined))',
    instead: 'if (true)',
    money: true,
  },
  'ordered-though-refused': {
    rule: 'Money, rule 9: what would be refused is not ordered',
    file: 'application/money/two-streams.js',
    text: 'decidePurchase(id, wanted.amount, wanted.reason)(before);',
    instead: 'void 0;',
    tests: money,
  },
  'claim-beside-the-commit': {
    rule: 'Money: one commit completes the claim with the card',
    file: 'application/money/one-commit.js',
    text: 'await ledgers.move({ org, command, movements, writes, completing });',
    instead: 'await ledgers.move({ org, command, movements, writes });',
    tests: money,
  },
  'spent-code-again': {
    rule: 'Money, rule 1: a code that a send has paid for is not drawn again by it',
    file: 'application/cards/claims.js',
    text: 'while (earlierCodes.includes(code))',
    instead: 'while (false)',
    tests: money,
  },
  'old-owner-unsettled': {
    rule: 'Money, rule 6: who takes over a claim whose code is taken returns what the old owner spent',
    file: 'application/cards/claims.js',
    text: 'await settleSpend(deps, command, spend).catch(() => null);',
    instead: 'void 0;',
    money: true,
  },
  'denied-outcome': {
    rule: 'Unknown outcomes: nobody is told that nothing was made while that is not certain',
    file: 'application/money/two-streams.js',
    text: 'unfinished.spend(spend);\n        throw error;',
    instead:
      "throw new (await import('../ports/event-store.js')).EventStoreUnavailable('It failed.');\n        throw error;",
    money: true,
    weather: 'cut connections',
  },
  'reused-key': {
    rule: 'A key with another body is refused',
    file: 'application/cards/claims.js',
    text: "throw new DomainError('idempotency_key_reused'",
    instead: "return begun(code, null); throw new DomainError('idempotency_key_reused'",
  },
  'no-copy': {
    rule: 'The design of a card of the collection becomes one of the organization, whoever dies',
    file: 'application/money/reconciler.js',
    text: '...openWork.copies.filter(due).map((copy) => [copy, () => copyOf(copy)]),',
    instead: '',
    weather: 'processes that die all the time',
  },
  'checkpoint-first': {
    rule: 'Relay: deliveries are stored before the checkpoint',
    file: 'application/webhooks/relay.js',
    text: 'await this.deps.deliveries.log.insert(rows);',
    instead: 'void this.deps.deliveries.log.insert(rows).catch(() => undefined);',
    weather: 'refused writes',
  },
  'endpoints-ahead': {
    rule: 'Relay: the event of an endpoint is not folded again after a restart',
    file: 'application/webhooks/relay.js',
    text: 'if (end === undefined)',
    instead: 'if (true)',
    tests: ['application/webhooks'],
  },
  'newer-subscriptions': {
    rule: 'Relay: subscriptions are those of the place in the log',
    file: 'application/webhooks/relay.js',
    text: '        await outbox.add(plan(run, batch.slice(first, index)));\n        await outbox.flush();',
    instead: '',
  },
  'drawn-ids': {
    rule: 'Relay: the id of a delivery is derived from its event and endpoint',
    file: 'application/webhooks/public-deliveries.js',
    text: 'id: deliveryIdOf(event.event, endpoint.id),',
    instead: 'id: `${deliveryIdOf(event.event, endpoint.id)}${Math.random()}`,',
  },
  'open-gate': {
    rule: 'DELETE of an endpoint closes its gate before the response',
    file: 'application/webhooks/webhooks.js',
    text: 'await deps.deliveries.gates.deleteEndpoint(org, deleted, deletedReason, deps.clock.now());',
    instead: '',
    weather: 'endpoints that go',
  },
  'unasked-gate': {
    rule: 'An attempt asks whether it may start right before it does',
    file: 'application/webhooks/attempt-delivery.js',
    text: '() => !stopping.aborted && deliveries.claims.mayStart(claim)',
    instead: '() => !stopping.aborted',
  },
  'unrecorded-attempt': {
    rule: 'An attempt is recorded, however often that takes',
    file: 'application/webhooks/attempt-delivery.js',
    text: 'await clock.sleep(recordAgainAfter, ending);',
    instead: 'return { recorded: false, tripped: null };',
    weather: 'refused writes',
  },
  'no-waits': {
    rule: 'Attempts keep to the schedule',
    file: 'application/webhooks/attempt-delivery.js',
    text: 'due: now + wait }',
    instead: 'due: now }',
    weather: 'failing receivers',
  },
  'one-more-attempt': {
    rule: 'At most as many attempts are made as are allowed',
    file: 'application/webhooks/attempt-delivery.js',
    text: 'if (number >= allowed)',
    instead: 'if (number > allowed)',
    weather: 'failing receivers',
  },
  'other-bytes': {
    rule: 'All attempts of a delivery have the same bytes',
    file: 'application/webhooks/attempt-delivery.js',
    text: 'headers, body, mayStart }',
    instead: 'headers, body: number > 1 ? `${body} ` : body, mayStart }',
    weather: 'failing receivers',
  },
  'never-disabled': {
    rule: 'An endpoint that fails twenty times in a row is disabled',
    file: 'application/webhooks/deliver-webhooks.js',
    text: '    async #disable(tripped) {',
    instead: '    async #disable(tripped) {\n        return;',
    weather: 'failing receivers',
  },
  'no-sweep': {
    rule: 'What no hint tells is found by a sweep',
    file: 'application/webhooks/deliver-webhooks.js',
    text: 'untilAborted(sweeps, () => this.#sweep()),',
    instead: 'this.#sweep(),',
    weather: 'lost hints',
  },
  'no-share': {
    rule: 'Fairness: an endpoint holds at most ten attempts at once',
    file: 'application/webhooks/deliver-webhooks.js',
    text: 'perEndpoint: 10,',
    instead: 'perEndpoint: 1_000,',
    weather: 'a backlog',
  },
  'kept-for-ever': {
    rule: 'Deliveries that ended long ago are removed',
    file: 'application/webhooks/keep-deliveries.js',
    text: 'log.removeEnded(clock.now() - keep)',
    instead: 'Promise.resolve()',
    weather: 'days off',
  },
  'kept-letters': {
    rule: 'An erasure destroys the keys of what was erased',
    file: 'application/personal/shred.js',
    text: 'await deps.personalKeys.destroy(keys);',
    instead: '',
  },
  'kept-payloads': {
    rule: 'An erasure takes what is personal out of the deliveries',
    file: 'application/webhooks/relay.js',
    text: 'await deps.deliveries.log.erase(idOf(stream), deps.clock.now());',
    instead: '',
  },
  'position-first': {
    rule: 'Projector: a position is passed once its documents are saved',
    file: 'application/projecting/project.js',
    text: 'savedPlace(build, group))));',
    instead: 'savedPlace(build, group)))).catch(() => undefined);',
  },
  'folded-twice': {
    rule: 'Projector: an event that a document includes is not folded into it again',
    file: 'application/projecting/project.js',
    text: 'if (before !== undefined && event.position <= before.position)\n        return null;',
    instead: '',
    weather: 'processes that die all the time',
  },
  'early-reads': {
    rule: 'Read-your-writes: a write is acknowledged once reads through every process show it',
    file: 'application/projecting/read-your-writes.js',
    text: 'afterWrite: (position) => board.waitUntilProjected(position),',
    instead: 'afterWrite: () => Promise.resolve(),',
    weather: 'fair',
  },
  'early-repeats': {
    rule: 'Read-your-writes: an answer from what another request wrote waits, too',
    file: 'application/cards/change-card.js',
    text: 'if (position !== null)\n        await deps.readYourWrites.afterWrite(position);',
    instead: '',
    tests: ['application/cards'],
  },
  'stale-reads': {
    rule: 'Read-your-writes: embedded, a read waits for what was committed before it',
    file: 'application/projecting/read-your-writes.js',
    text: 'beforeRead: () => board.waitUntilProjected(head()),',
    instead: 'beforeRead: () => Promise.resolve(),',
    weather: 'fair',
  },
  'trusted-rows': {
    rule: 'Read-your-writes: while rows may be late, the stream is read',
    file: 'application/projecting/up-to-date.js',
    text: 'if (row !== null && !mayHaveBeenLate && !readYourWrites.rowsMayBeLate())',
    instead: 'if (row !== null)',
    weather: 'the projector away',
  },
  'older-rows': {
    rule: 'Read-your-writes: while no stream can be read, no row is shown that is known to lack events',
    file: 'application/projecting/up-to-date.js',
    text: 'error instanceof EventStoreUnavailable && !readYourWrites.rowsLackEvents()',
    instead: 'error instanceof EventStoreUnavailable',
    tests: ['application/projecting'],
  },
  'trusted-keys': {
    rule: 'A revoked key stops working within five seconds',
    file: 'application/access/authenticate.js',
    text: 'const cacheTtl = 4_000;',
    instead: 'const cacheTtl = 4_000_000;',
    weather: 'fair',
  },
  'any-scope': {
    rule: 'A key does what its scopes say',
    file: 'adapters/http/server/admission.js',
    text: 'if (!caller.scopes.includes(scope))',
    instead: 'if (false)',
  },
  'any-organization': {
    rule: 'Organizations do not see each other',
    file: 'domain/card.js',
    text: 'if (!isMade(state) || (org !== null && state.order.org !== org))',
    instead: 'if (!isMade(state))',
  },
  'times-go-back': {
    rule: 'The times of a stream never go back',
    file: 'application/writing/streams.js',
    text: 'last = last !== null && last > command.at ? last : command.at;',
    instead: 'last = command.at;',
    weather: 'clocks that step',
  },
  'own-clock': {
    rule: 'Processes with servers go by one clock',
    file: 'adapters/mongodb/client/clock-watch.js',
    text: 'clock.agree?.(-ahead);',
    instead: '',
    weather: 'clocks apart',
  },
  'published-once': {
    rule: 'The public stream passes an event once it was published',
    file: 'application/log/publish-events.js',
    text: 'await publicStream.publish(batch, await logId());',
    instead: 'await publicStream.publish(batch, await logId()).catch(() => undefined);',
    weather: 'refused writes',
  },
  'published-from-memory': {
    rule: 'What is published again is read again: its card may have been erased',
    file: 'application/log/publish-events.js',
    text: 'await publicStream.publish(batch, await logId());',
    instead: 'await publicStream.publish((deps.all = [...(deps.all ?? []), ...batch]), await logId());',
  },
};
