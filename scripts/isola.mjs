const usage = `usage: isola <noun> <verb> [options]
  no command is built yet; the surfaces are HTTP: see README.md`

console.error(usage)
process.exit(2)
