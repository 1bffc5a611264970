// One workerd without a port: it listens on sockets only, in a folder that only this user may enter. No debugger, no
// explorer of the databases, no registry of development servers, no store of traces. Load it in a process of its own
// (serve.mjs, migrate.mjs): it changes what that process listens on.
import { createRequire } from 'node:module'
import { Server } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, toolFile } from '../toolchain.mjs'
import { socketsIn } from './sockets.mjs'

const miniflarePath = toolFile('miniflare', 'dist', 'src', 'index.js')
const { Miniflare, Log, LogLevel } = await import(pathToFileURL(miniflarePath).href)

/**
 * @param options.folder Of the sockets (`socketsIn`).
 * @param options.statePath What the Worker keeps.
 * @param options.worker `config` and `dev` of the one Worker, as Miniflare has them.
 * @param options.onLog Called with each `{ level, message }` of the Worker and of workerd.
 * @returns `update(worker)`, which starts workerd again with another Worker, and `close()`.
 */
export async function openRuntime({ folder, statePath, worker, onLog }) {
  // Read by scripts/start/workerd.sh, and by Miniflare.
  process.env.ISOLA_SOCKETS = folder
  process.env.ISOLA_WORKERD = createRequire(miniflarePath)('workerd').default
  process.env.MINIFLARE_WORKERD_PATH = join(root, 'scripts', 'start', 'workerd.sh')
  listenIn(socketsIn(folder).loopback)
  const optionsOf = ({ config, dev }) => ({
    host: '127.0.0.1',
    port: 0,
    log: new Log(LogLevel.WARN),
    handleStructuredLogs: onLog,
    logRequests: false,
    // A made-up request.cf: starting up must not depend on the network.
    cf: false,
    telemetry: { enabled: false },
    resourcePersistencePath: join(statePath, 'v3'),
    unsafeTriggerHandlers: true,
    unsafeLocalExplorer: false,
    unsafeObservability: false,
    workers: [
      {
        config,
        dev: {
          stripCfConnectingIp: false,
          ...dev,
          unsafeDirectSockets: [{ host: `unix:${join(folder, 'worker')}`, port: 0 }],
        },
      },
    ],
  })
  const miniflare = new Miniflare(optionsOf(worker))
  await miniflare.ready
  return {
    update: (next) => miniflare.setOptions(optionsOf(next)),
    close: () => miniflare.dispose(),
  }
}

/** Miniflare's own server, which workerd asks and which asks for no key, has no option for a socket. */
function listenIn(path) {
  const listen = Reflect.get(Server.prototype, 'listen')
  Server.prototype.listen = function listenOnSocket(port, host, done) {
    if (port !== 0 || host !== '127.0.0.1')
      throw new Error(`Nothing but Miniflare's own server may listen here, not ${host}:${port}.`)
    // Miniflare asks for a port, which scripts/start/workerd.sh leaves out.
    this.address = () => ({ address: host, family: 'IPv4', port: 1 })
    return listen.call(this, path, done)
  }
}
