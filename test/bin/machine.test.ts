import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { thisMachine } from '../../bin/engines/machine.js';

const module = new URL('../../bin/engines/machine.js', import.meta.url).href;

describe('what the machine knows of its processes', () => {
  it('is that one has ended which was killed, and nothing of one elsewhere', async function () {
    const machine = thisMachine();
    if (machine.self === null) this.skip();
    const tell = `import(${JSON.stringify(module)}).then(({ thisMachine }) => console.log(thisMachine().self)); setInterval(() => {}, 1e6);`;
    const child = spawn(process.execPath, ['-e', tell], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line]: unknown[] = await once(child.stdout, 'data');
    const name = String(line).trim();
    expect([machine.isGone(name), machine.isGone(machine.self)]).to.deep.equal([false, false]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(machine.isGone(name)).to.equal(true);
    // The same number belongs to a process that began later.
    const [pid, beginning] = machine.self.split(' ').slice(-2);
    const earlier = machine.self.replace(`${pid} ${beginning}`, `${pid} ${Number(beginning) - 1}`);
    expect(machine.isGone(earlier)).to.equal(true);
    const elsewhere = [`other${name}`, name.replace('pid:[', 'pid:[9'), '', 'a host 17'];
    expect(elsewhere.map((each) => machine.isGone(each))).to.deep.equal([false, false, false, false]);
  });
});
