// After `npm install`: adds lock entries of platform packages that a registry mirror does not serve, so that
// `npm ci` accepts the lock everywhere. Usage: node scripts/lock-platforms.mjs package-lock.json
import fs from 'node:fs'
const file = process.argv[2]
const lock = JSON.parse(fs.readFileSync(file, 'utf8'))
const p = lock.packages
const find = (from, name) => {
  for (let at = from; ;) {
    const k = `${at ? at + '/' : ''}node_modules/${name}`
    if (p[k]) return k
    if (!at) return
    at = at.includes('/node_modules/') ? at.slice(0, at.lastIndexOf('/node_modules/')) : ''
  }
}
const added = {}
for (const [path, e] of Object.entries(p))
  for (const [name, range] of Object.entries(e.optionalDependencies ?? {})) {
    const there = find(path, name)
    if (there && (p[there].version === range || !/^\d+\.\d+\.\d+$/.test(range))) continue
    const base = there ? path + '/' : ''
    const parts = name
      .slice(name.indexOf('/') + 1)
      .replace(/^binding-/, '')
      .split('-')
    const os = {
      win32: 'win32',
      darwin: 'darwin',
      linux: 'linux',
      android: 'android',
      freebsd: 'freebsd',
      openharmony: 'openharmony',
      wasm32: undefined,
    }[parts[0]]
    if (!/^\d+\.\d+\.\d+$/.test(range)) {
      console.log('range?', path, name, range)
      continue
    }
    if (parts[0] !== 'wasm32' && !os) {
      console.log('os?', name)
      continue
    }
    const entry = { version: range, cpu: [parts[0] === 'wasm32' ? 'wasm32' : parts[1]] }
    if (e.dev) entry.dev = true
    if (e.devOptional) entry.devOptional = true
    const libc = /musl/.test(parts[2] ?? '')
      ? 'musl'
      : /gnu/.test(parts[2] ?? '') && os === 'linux'
        ? 'glibc'
        : undefined
    if (libc && !/eabi/.test(parts[2])) entry.libc = [libc]
    entry.optional = true
    if (os) entry.os = [os]
    if (e.peer) entry.peer = true
    added[`${base}node_modules/${name}`] = entry
  }
Object.assign(p, added)
lock.packages = Object.fromEntries(Object.entries(p).sort(([a], [b]) => a.localeCompare(b, 'en')))
fs.writeFileSync(file, JSON.stringify(lock, null, 2) + '\n')
console.log('added', Object.keys(added).length)
console.log(
  Object.entries(added)
    .slice(0, 3)
    .map((x) => JSON.stringify(x))
    .join('\n'),
)
