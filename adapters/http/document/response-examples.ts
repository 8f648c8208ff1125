import { stepsExample } from '../api/cards.js';

/** Where the example of a response differs from its schema's, by operation and status. */
export const responseExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'registerWebhookEndpoint 201': { signing_secret: 'whsec_5dH2qk0v8mQ4xW7sYt1oRz3uLb6nEc9jFa2gKi5pTd0=' },
  'createOperatorKey 201': { label: 'Ada, office', expires_at: '2027-03-01T00:00:00.000+00:00' },
  'queueCard 200': { status: 'queued' },
  'holdCard 200': { status: 'blocked', held_reason: 'The address needs a look.' },
  'failCard 200': { status: 'failed' },
  'reportStep 200': { status: 'in_production', steps: stepsExample('in_progress') },
};

/** Times that are null in the examples. */
export const notYet: ReadonlySet<string> = new Set([
  'mailed_at',
  'completed_at',
  'suspended_at',
  'revoked_at',
  'next_attempt_at',
]);

/** An event of the log without its subject. */
const recorded = {
  log: '6b0d3f0e-2a37-4b8c-9d7e-5f1a2c3b4d5e',
  position: '1042',
  stream: 'card-HC-7K3M9QX',
  revision: '3',
  id: '4f9d1c1e-7f0b-4f0a-9a53-0d2f6b7c8e91',
  type: 'CardScheduled',
  at: '2026-03-02T15:04:05.678Z',
  data: {},
  metadata: {},
};

/** An example of an event that an operation streams, with an example of its data. */
export const eventExampleOf = (data: unknown) => {
  const { id, position = id, type = 'attempt' } = data as Readonly<Record<string, string | undefined>>;
  return { ...(position !== undefined && { id: position }), event: type, data: JSON.stringify(data) };
};

const checkpoint =
  'cards.example/log\n1043\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— cards.example/log AAAA\n';

/** Texts that operations answer with, by operation and type. */
const texts: Readonly<Record<string, string>> = {
  'followEvents application/jsonl': `${JSON.stringify(recorded)}\n`,
  'exportEvents application/jsonl': `${JSON.stringify(recorded)}\n`,
  'reconcileCredits text/csv':
    'line,amount,at,position,reference,reason,actor,subject,message\nopening,0,,,,,,,\nclosing,41,,,,,,,\n',
  'getCheckpoint text/plain': checkpoint,
  'getLogKey text/plain': 'cards.example/log+7a1b2c3d+AcUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n',
  'getLogProof text/plain': `c2sp.org/tlog-proof@v1\nextra e30=\nindex 1042\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n${checkpoint}`,
  'getMetrics text/plain': '# TYPE event_loop_lag_seconds gauge\nevent_loop_lag_seconds 0.002\n',
};

/** An example of a text that an operation answers with. */
export const textExampleOf = (operationId: string, type: string): string =>
  texts[`${operationId} ${type}`] ?? 'text';
