import { isPlainObject } from '../../../domain/plain-object.js';
import { stepsExample } from '../api/cards.js';
import { jsonSchemaOf, type JsonSchema } from '../schema/json-schema.js';
import { templateOf, type DocumentedResponse, type Route } from '../server/route.js';

/** Where the example of a response differs from its schema's, by operation and status. */
const responseExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'registerWebhookEndpoint 201': { signing_secret: 'whsec_5dH2qk0v8mQ4xW7sYt1oRz3uLb6nEc9jFa2gKi5pTd0=' },
  'createOperatorKey 201': { label: 'Ada, office', expires_at: '2027-03-01T00:00:00.000+00:00' },
  'queueCard 200': { status: 'queued' },
  'holdCard 200': { status: 'blocked', held_reason: 'The address needs a look.' },
  'failCard 200': { status: 'failed' },
  'reportStep 200': { status: 'in_production', steps: stepsExample('in_progress') },
};

/** Times that are null in the examples. */
const notYet: ReadonlySet<string> = new Set([
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

/** Fields without which an example is an example, too. */
type Optional = 'with an example' | 'left out';

/**
 * An example of a schema's values: its own example, else one made from its fields' examples. Optional fields
 * without an example are left out, or all of them.
 */
export const exampleOf = (schema: JsonSchema, optional: Optional = 'with an example'): unknown => {
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum?.[0] !== undefined) return schema.enum[0];
  if (schema.anyOf?.[0] !== undefined) return exampleOf(schema.anyOf[0], optional);
  const [type] = [schema.type ?? 'string'].flat();
  switch (type) {
    case 'object': {
      const wanted = Object.entries(schema.properties ?? {}).filter(
        ([name, { examples }]) =>
          schema.required?.includes(name) === true ||
          (examples !== undefined && optional === 'with an example'),
      );
      return Object.fromEntries(
        wanted.map(([name, property]) => [name, notYet.has(name) ? null : exampleOf(property, optional)]),
      );
    }
    case 'array': {
      const item = exampleOf(schema.items ?? {}, optional);
      return Array.from({ length: schema.minItems ?? 1 }, () => item);
    }
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    default:
      return '';
  }
};

/** An example of the JSON of a response, without fields that may be absent; undefined if it isn't JSON. */
export const responseExampleOf = (route: Route, response: DocumentedResponse): unknown => {
  if (response.schema === null) return undefined;
  const status = Object.entries(route.responses).find(([, each]) => each === response)?.[0];
  const example = exampleOf(jsonSchemaOf(response.schema), 'left out');
  const otherwise = responseExamples[`${route.id} ${status}`];
  return otherwise === undefined || !isPlainObject(example) ? example : { ...example, ...otherwise };
};

export interface SampleRequest {
  readonly method: string;
  /** `$NAME` in it is a variable of the environment. */
  readonly url: string;
  /** The variable of the environment that holds the bearer token; null if none is needed. */
  readonly credential: 'API_KEY' | 'OPERATOR_TOKEN' | null;
  /** Besides Authorization and Content-Type. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Undefined if there is none. */
  readonly body: unknown;
  /** The way to read the response. */
  readonly reads: 'json' | 'text' | 'stream';
  /** A header of the response that is shown, too. */
  readonly shows?: string;
}

const pathOf = (route: Route): string => {
  const { properties = {} } = jsonSchemaOf(route.params);
  return templateOf(route.path).replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(exampleOf(properties[name] ?? {}))),
  );
};

/** Of these parameters an operation needs one or another. */
const chosen: Readonly<Record<string, readonly string[]>> = { exportEvents: ['organization'] };

const queryOf = (route: Route): string => {
  const { properties = {}, required = [] } = jsonSchemaOf(route.query);
  const sent = [...required, ...(chosen[route.id] ?? [])].map((name) => [
    name,
    String(exampleOf(properties[name] ?? {})),
  ]);
  return sent.length === 0 ? '' : `?${new URLSearchParams(sent).toString()}`;
};

/** The call of an operation with the examples that its schemas show, and the parameters that it needs. */
export const sampleRequest = (route: Route, baseUrl: string): SampleRequest => {
  const { method, access, body } = route;
  const [response] = Object.values(route.responses);
  const headers = method === 'GET' ? [] : Object.entries(route.headers ?? {});
  return {
    method,
    url: `${baseUrl}${pathOf(route)}${queryOf(route)}`,
    credential: access.kind === 'key' ? 'API_KEY' : access.kind === 'operator' ? 'OPERATOR_TOKEN' : null,
    headers: headers.map(([name, { schema }]) => [name, String(exampleOf(schema))]),
    body: body === null ? undefined : exampleOf(jsonSchemaOf(body.schema)),
    reads: response?.type === 'text/event-stream' ? 'stream' : response?.schema ? 'json' : 'text',
  };
};

const inShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const variable = /\$([A-Z_]+)/g;

const urlInNode = (url: string): string =>
  url.includes('$') ? `\`${url.replaceAll(variable, '${process.env.$1}')}\`` : JSON.stringify(url);

const urlInPython = (url: string): string =>
  url.includes('$') ? `f"${url.replaceAll(variable, "{os.environ['$1']}")}"` : JSON.stringify(url);

/** A value as JSON, which is JavaScript; its lines but the first begin with the margin. */
const json = (value: unknown, margin: string): string =>
  JSON.stringify(value, null, margin).replaceAll('\n', `\n${margin}`);

const pythonWords: Readonly<Record<string, string>> = { null: 'None', true: 'True', false: 'False' };

/** A value as Python, which has other words: they end lines, as no text of JSON does. */
const inPython = (value: unknown, margin: string): string =>
  json(value, margin).replaceAll(/(null|true|false)(?=,?$)/gm, (word) => pythonWords[word] ?? word);

/** The headers besides Authorization, each as a line of an object. */
const headerLines = ({ headers, body }: SampleRequest): readonly string[] => {
  const all = body === undefined ? headers : [...headers, ['Content-Type', 'application/json'] as const];
  return all.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
};

const curl = ({ method, url, credential, headers, body, reads, shows }: SampleRequest): string =>
  [
    `curl ${reads === 'stream' ? '--no-buffer ' : ''}${shows === undefined ? '' : '-i '}${method === 'GET' || (method === 'POST' && body !== undefined) ? '' : `-X ${method} `}${url.includes('$') ? `"${url}"` : inShell(url)}`,
    ...(credential === null ? [] : [`-H "Authorization: Bearer $${credential}"`]),
    ...headers.map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${inShell(JSON.stringify(body, null, 2))}`]),
  ].join(' \\\n  ');

const node = (request: SampleRequest): string => {
  const { method, url, credential, body, reads, shows } = request;
  const sent = [
    ...(credential === null ? [] : [`Authorization: \`Bearer \${process.env.${credential}}\``]),
    ...headerLines(request),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: "${method}",`]),
    ...(sent.length === 0 ? [] : ['  headers: {', ...sent.map((line) => `    ${line},`), '  },']),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${json(body, '  ')}),`]),
  ];
  return [
    options.length === 0
      ? `const response = await fetch(${urlInNode(url)});`
      : [`const response = await fetch(${urlInNode(url)}, {`, ...options, '});'].join('\n'),
    'if (!response.ok) throw new Error(await response.text());',
    ...(shows === undefined ? [] : [`console.log(response.headers.get(${JSON.stringify(shows)}));`]),
    ...(reads === 'stream'
      ? [
          'const decoder = new TextDecoder();',
          'for await (const chunk of response.body) process.stdout.write(decoder.decode(chunk, { stream: true }));',
        ]
      : [`console.log(await response.${reads}());`]),
  ].join('\n');
};

const withPython = (request: SampleRequest): string => {
  const { method, url, credential, body, reads, shows } = request;
  const sent = [
    ...(credential === null ? [] : [`"Authorization": f"Bearer {os.environ['${credential}']}"`]),
    ...headerLines(request),
  ];
  const modules = [
    ...(reads === 'json' || body !== undefined ? ['json'] : []),
    ...(credential === null && !url.includes('$') ? [] : ['os']),
    'urllib.request',
  ];
  return [
    ...modules.map((module) => `import ${module}`),
    '',
    'request = urllib.request.Request(',
    `    ${urlInPython(url)},`,
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    ...(sent.length === 0 ? [] : ['    headers={', ...sent.map((line) => `        ${line},`), '    },']),
    ...(body === undefined ? [] : [`    data=json.dumps(${inPython(body, '    ')}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    ...(shows === undefined ? [] : [`    print(response.headers[${JSON.stringify(shows)}])`]),
    ...(reads === 'stream'
      ? ['    for line in response:', '        print(line.decode(), end="", flush=True)']
      : [reads === 'json' ? '    print(json.load(response))' : '    print(response.read().decode())']),
  ].join('\n');
};

/** A call of an operation as a program. `lang` is the highlighter's name of the language. */
export interface Sample {
  readonly lang: 'Shell' | 'JavaScript' | 'Python';
  readonly label: 'curl' | 'Node' | 'Python';
  readonly source: string;
}

/** The same call in three languages, which need nothing installed. */
export const inLanguages = (request: SampleRequest): readonly [Sample, Sample, Sample] => [
  { lang: 'Shell', label: 'curl', source: curl(request) },
  { lang: 'JavaScript', label: 'Node', source: node(request) },
  { lang: 'Python', label: 'Python', source: withPython(request) },
];

/**
 * A call of an operation. It is made of the examples that its schemas show, and finds the key in the variable
 * API_KEY of the environment (OPERATOR_TOKEN for operations of the operator).
 */
export const samplesOf = (route: Route, baseUrl: string): readonly Sample[] =>
  inLanguages(sampleRequest(route, baseUrl));
