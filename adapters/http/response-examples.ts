import { stepsExample } from './cards.js';

/** What the example of a response shows otherwise than its schema, by operation and status. */
export const responseExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'registerWebhookEndpoint 201': { signing_secret: 'whsec_5dH2qk0v8mQ4xW7sYt1oRz3uLb6nEc9jFa2gKi5pTd0=' },
  'createOperatorKey 201': { label: 'Ada, office', expires_at: '2027-03-01T00:00:00.000+00:00' },
  'queueCard 200': { status: 'queued' },
  'holdCard 200': { status: 'blocked', held_reason: 'The address needs a look.' },
  'failCard 200': { status: 'failed' },
  'reportStep 200': { status: 'in_production', steps: stepsExample('in_progress') },
};

/** Times that are null until something happens: in the examples it has not. */
export const notYet: ReadonlySet<string> = new Set([
  'mailed_at',
  'completed_at',
  'suspended_at',
  'revoked_at',
]);
