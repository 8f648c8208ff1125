import { isPlainObject } from '../../../domain/plain-object.js';
import { jsonSchemaOf, type JsonSchema } from '../schema/json-schema.js';
import { notYet, responseExamples } from './response-examples.js';
import { templateOf, type DocumentedResponse, type Route } from '../server/route.js';

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

/** How a language writes values, beside lists and objects. */
interface Notation {
  readonly text: (value: string) => string;
  readonly name: (value: string) => string;
  readonly others: Readonly<Record<string, string>>;
}

const quoted = (value: string): string =>
  `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
const javascript: Notation = {
  text: quoted,
  name: (value) => (/^[A-Za-z_]\w*$/.test(value) ? value : quoted(value)),
  others: {},
};
// Every JSON text is a text of Python, too.
const python: Notation = {
  text: (value) => JSON.stringify(value),
  name: (value) => JSON.stringify(value),
  others: { null: 'None', true: 'True', false: 'False' },
};

/** A JSON value as a literal of a language, a field a line. */
const literal = (value: unknown, notation: Notation, indent: string, margin = ''): string => {
  const inside = margin + indent;
  const lines = (open: string, items: readonly string[], close: string): string =>
    items.length === 0
      ? `${open}${close}`
      : `${open}\n${items.map((item) => `${inside}${item},\n`).join('')}${margin}${close}`;
  if (typeof value === 'string') return notation.text(value);
  if (Array.isArray(value))
    return value.every((item) => typeof item !== 'object')
      ? `[${value.map((item: unknown) => literal(item, notation, indent)).join(', ')}]`
      : lines(
          '[',
          value.map((item: unknown) => literal(item, notation, indent, inside)),
          ']',
        );
  if (isPlainObject(value))
    return lines(
      '{',
      Object.entries(value).map(
        ([name, item]) => `${notation.name(name)}: ${literal(item, notation, indent, inside)}`,
      ),
      '}',
    );
  const plain = JSON.stringify(value);
  return notation.others[plain] ?? plain;
};

const inShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const variable = /\$([A-Z_]+)/g;

const inNode = (url: string): string =>
  url.includes('$') ? `\`${url.replaceAll(variable, '${process.env.$1}')}\`` : quoted(url);

const inPython = (url: string): string =>
  url.includes('$') ? `f"${url.replaceAll(variable, "{os.environ['$1']}")}"` : python.text(url);

const curl = ({ method, url, credential, headers, body, reads, shows }: SampleRequest): string =>
  [
    `curl ${reads === 'stream' ? '--no-buffer ' : ''}${shows === undefined ? '' : '-i '}${method === 'GET' || (method === 'POST' && body !== undefined) ? '' : `-X ${method} `}${url.includes('$') ? `"${url}"` : inShell(url)}`,
    ...(credential === null ? [] : [`-H "Authorization: Bearer $${credential}"`]),
    ...headers.map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${inShell(JSON.stringify(body, null, 2))}`]),
  ].join(' \\\n  ');

const node = ({ method, url, credential, headers, body, reads, shows }: SampleRequest): string => {
  const sent = [
    ...(credential === null ? [] : [`Authorization: \`Bearer \${process.env.${credential}}\``]),
    ...headers.map(([name, value]) => `${javascript.name(name)}: ${quoted(value)}`),
    ...(body === undefined ? [] : [`'Content-Type': 'application/json'`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(sent.length === 0 ? [] : ['  headers: {', ...sent.map((line) => `    ${line},`), '  },']),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body, javascript, '  ', '  ')}),`]),
  ];
  return [
    options.length === 0
      ? `const response = await fetch(${inNode(url)});`
      : [`const response = await fetch(${inNode(url)}, {`, ...options, '});'].join('\n'),
    'if (!response.ok) throw new Error(await response.text());',
    ...(shows === undefined ? [] : [`console.log(response.headers.get(${quoted(shows)}));`]),
    ...(reads === 'stream'
      ? [
          'const decoder = new TextDecoder();',
          'for await (const chunk of response.body) process.stdout.write(decoder.decode(chunk, { stream: true }));',
        ]
      : [`console.log(await response.${reads}());`]),
  ].join('\n');
};

const withPython = ({ method, url, credential, headers, body, reads, shows }: SampleRequest): string => {
  const sent = [
    ...(credential === null ? [] : [`"Authorization": f"Bearer {os.environ['${credential}']}"`]),
    ...headers.map(([name, value]) => `${python.name(name)}: ${python.text(value)}`),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
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
    `    ${inPython(url)},`,
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    ...(sent.length === 0 ? [] : ['    headers={', ...sent.map((line) => `        ${line},`), '    },']),
    ...(body === undefined
      ? []
      : [`    data=json.dumps(${literal(body, python, '    ', '    ')}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    ...(shows === undefined ? [] : [`    print(response.headers[${python.text(shows)}])`]),
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
