import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgram } from '../support/examples/examples.js';
import { startTestService } from '../support/http/service.js';

// Makes a client with each generator, compiles it, and runs a program that sends a card twice with one key,
// lists, and is refused for want of credits and for a wrong ZIP code. Every response has a field that the
// document does not name. What a machine lacks is skipped, and a line says so.

const generate = 'java -jar ../openapi-generator-cli-7.17.0.jar generate -i "$DOCUMENT" -o client -g';

interface Recipe {
  readonly name: string;
  readonly tools: readonly string[];
  readonly program: string;
  /** Needs other machines: where it fails, the recipe is skipped. */
  readonly fetch: string;
  readonly make: string;
  /** What can only be fetched once the client is made. */
  readonly resolve: string;
  readonly compile: string;
  readonly run: string;
}

const fetchGenerator =
  'mvn -q dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.17.0 -DoutputDirectory=..';

const recipes: readonly Recipe[] = [
  {
    name: 'openapi-generator, Java',
    tools: ['java', 'javac', 'mvn'],
    program: 'Send.java',
    fetch: fetchGenerator,
    make: `${generate} java --library native && cp Send.java client/src/main/java`,
    resolve: 'mvn -q -f client dependency:build-classpath -Dmdep.outputFile=../classpath',
    compile: 'mvn -q -f client compile',
    run: 'java -cp "client/target/classes:$(cat classpath)" Send',
  },
  {
    name: 'openapi-generator, Go',
    tools: ['java', 'mvn', 'go'],
    program: 'send.go',
    fetch: fetchGenerator,
    make: `${generate} go --git-user-id example --git-repo-id cards --additional-properties=packageName=cards && rm -r client/test`,
    resolve:
      'go mod init send && go mod edit -replace github.com/example/cards=./client -require github.com/example/cards@v0.0.0 && go mod tidy',
    compile: 'go build -o send .',
    run: './send',
  },
  {
    name: 'openapi-generator, Python',
    tools: ['java', 'mvn', 'python3'],
    program: 'send.py',
    fetch: fetchGenerator,
    make: `${generate} python --additional-properties=packageName=cards`,
    resolve: 'python3 -m venv venv && venv/bin/pip install -q ./client',
    // The module of the webhook that it writes is no Python, and nothing imports it.
    compile: 'venv/bin/python -c "import cards"',
    run: 'venv/bin/python send.py',
  },
  {
    name: 'oapi-codegen, Go',
    tools: ['go'],
    program: 'oapi-codegen.go',
    fetch: 'GOBIN="$PWD" go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2',
    make: './oapi-codegen -generate types,client -package main "$DOCUMENT" > client.go',
    resolve: 'go mod init send && go mod tidy',
    compile: 'go build -o send .',
    run: './send',
  },
];

const programs = fileURLToPath(new URL('../../../test/clients/programs/', import.meta.url));

/** Passes requests on, and adds a field to every object that comes back. */
const startNewerService = async (baseUrl: string) => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => void pass(Buffer.concat(chunks)));
    const pass = async (body: Buffer): Promise<void> => {
      const { method = '', url = '', headers } = request;
      const kept = ['authorization', 'content-type', 'idempotency-key'];
      const sent = kept.flatMap((name) =>
        headers[name] === undefined ? [] : [[name, String(headers[name])]],
      );
      const answer = await fetch(`${baseUrl}${url}`, {
        method,
        headers: Object.fromEntries(sent) as Record<string, string>,
        ...(body.length > 0 && { body: body.toString() }),
      });
      const value = (await answer.json()) as object;
      const added = url.endsWith('openapi.json')
        ? value
        : { ...value, added_later: { by: 'a newer release' } };
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(added));
    };
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  };
};

const inherited = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);

const service = await startTestService();
const newer = await startNewerService(service.baseUrl);
const [tenant, poor] = [await service.tenant(), await service.tenant({ credits: 0 })];
const folder = mkdtempSync(join(tmpdir(), 'card-clients-'));
const settings = {
  ...inherited,
  DOCUMENT: `${newer.url}/api/openapi.json`,
  BASE_URL: newer.url,
  API_KEY: tenant.key,
  POOR_KEY: poor.key,
};
let failed = 0;

const outcomeOf = async (recipe: Recipe, here: string): Promise<string> => {
  const missing = recipe.tools.filter((tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0);
  if (missing.length > 0) return `skipped: there is no ${missing.join(', ')}`;
  for (const step of ['fetch', 'make', 'resolve', 'compile'] as const) {
    const running = startProgram('sh', ['-c', `cd '${here}' && ${recipe[step]}`], settings);
    if ((await running.ended) === 0) continue;
    if (step === 'fetch') return 'skipped: the generator could not be fetched';
    throw new Error(`${step}: ${running.output()}`);
  }
  const running = startProgram('sh', ['-c', `cd '${here}' && ${recipe.run}`], settings);
  const code = await running.ended;
  if (code !== 0 || !/^(HC-\w+) \1 1 402:no_credits 422:invalid_recipient\n$/.test(running.output()))
    throw new Error(`run: ${code} ${running.output()}`);
  return 'passed';
};

try {
  for (const [index, recipe] of recipes.entries()) {
    const here = join(folder, String(index));
    mkdirSync(here);
    cpSync(join(programs, recipe.program), join(here, recipe.program));
    const began = performance.now();
    const outcome = await outcomeOf(recipe, here).catch((error: unknown) => {
      failed++;
      return `failed: ${String(error).slice(-3_000)}`;
    });
    console.log(`${recipe.name}: ${outcome} (${Math.round((performance.now() - began) / 1000)} s)`);
  }
} finally {
  newer.close();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;
