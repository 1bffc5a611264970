// npm run check: everything but the tests. Each step is named and timed; all run, then the verdict.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { maxKernelLines, measureKernel } from './kernel-size.mjs'
import { ensureInstalled, root, runNode, tools } from './toolchain.mjs'
import { dryRun, measureUpload } from './upload-size.mjs'

const script = (name) => join(root, 'scripts', name)
const kib = (sizeBytes) => `${(sizeBytes / 1024).toFixed(1)} KiB`

/** A step that is a tool: quiet when it passes, unless `show` picks lines of its output. */
const tool = (name, args, options = {}) => ({
  name,
  run: async () => {
    const { code, output } = await runNode(args, { capture: true, ...options })
    return { ok: code === 0, output: code === 0 ? (options.show?.(output) ?? '') : output.trim() }
  },
})

const lintSummary = (output) =>
  output
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('Found '))
    .join('\n')

/**
 * A lock that `npm ci` takes everywhere. npm 11 refuses one that leaves out another platform's optional
 * packages, which happens when the registry in use did not have them; and no registry belongs in it.
 */
function checkLock() {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text)
  const isThere = (from, name) => {
    for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
      if (packages[`${at ? `${at}/` : ''}node_modules/${name}`]) return true
      if (!at) return false
    }
  }
  const missing = Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
      .filter((name) => !isThere(path, name))
      .map((name) => `${path || 'package.json'} wants ${name}, which is not in package-lock.json`),
  )
  if (text.includes('"resolved"')) missing.push('package-lock.json has "resolved" addresses')
  return { ok: missing.length === 0, output: missing.join('\n') }
}

/** Of several each works out for itself what they share: twice the work of one, and the tests want the other cores. */
const oneChecker = ['--checkers', '1']

const steps = [
  { name: 'package-lock', run: async () => checkLock() },
  tool('oxfmt', [tools.oxfmt, '--check']),
  // Warnings are of sizes and words, which have figures of their own.
  tool('oxlint', [tools.oxlint, '--type-aware', '--quiet', '--report-unused-disable-directives'], {
    show: lintSummary,
  }),
  // A process of its own: it reads TypeScript, which the Node of the machine may not.
  tool('words', [script('words.mjs')]),
  // Apart, so that what is uploaded sees no type of Node or of the tests.
  tool('tsc src', [tools.tsc, '-p', 'tsconfig.json', ...oneChecker]),
  tool('tsc command and test', [tools.tsc, '-p', 'test/tsconfig.json', ...oneChecker]),
  tool('knip', [tools.knip, '--no-progress', '--no-config-hints']),
  tool('wrangler types', [script('types.mjs'), '--check']),
  {
    name: 'wrangler deploy --dry-run',
    run: async () => {
      const folder = join(root, 'dist')
      const { code, output } = await runNode([tools.wrangler, ...dryRun(folder)], { capture: true })
      if (code !== 0) return { ok: false, output: output.trim() }
      const { rawBytes, gzipBytes, problem } = measureUpload(folder)
      const size = `upload: ${kib(rawBytes)}, ${kib(gzipBytes)} gzip`
      return { ok: problem === undefined, output: problem ?? size }
    },
  },
  {
    name: 'kernel size',
    run: async () => {
      const { lines, files, problems } = measureKernel(join(root, 'src'))
      const size = `kernel, leases and what they reach: ${lines} of ${maxKernelLines} lines in ${files.length} files`
      return { ok: problems.length === 0, output: [size, ...problems].join('\n') }
    },
  },
]

/** Runs every step. @returns The names of those that failed. */
export async function runChecks() {
  const failed = []
  for (const step of steps) {
    const startedMs = Date.now()
    const { ok, output } = await step.run()
    console.log(
      `${ok ? 'ok  ' : 'FAIL'} ${step.name} (${((Date.now() - startedMs) / 1000).toFixed(1)} s)`,
    )
    if (output) console.log(output.replace(/^/gm, '     '))
    if (!ok) failed.push(step.name)
  }
  return failed
}

/** Writes src/bundled.gen.ts, without which neither types nor tests resolve. */
export async function generateSources() {
  const { code, output } = await runNode([script('generate.mjs')], { capture: true })
  if (code !== 0) throw new Error(output.trim())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await ensureInstalled()
    if (existsSync(join(root, 'src'))) await generateSources()
    const failed = await runChecks()
    if (failed.length > 0) console.error(`check failed: ${failed.join(', ')}`)
    process.exit(failed.length > 0 ? 1 : 0)
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
}
