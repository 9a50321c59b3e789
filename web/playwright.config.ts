/**
 * Journeys in a real browser against the real server, one worker: the server of all journeys is a process of its own.
 *
 * `CHROMIUM` names the browser; none is ever downloaded. What is not a journey has a project of its own and runs only when
 * it is asked for: `npm run screenshots` pictures every page, `npm run perf` measures the canvas.
 */
import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: './e2e',
  outputDir: './test-results',
  fullyParallel: false,
  workers: 1,
  forbidOnly: Boolean(process.env['CI']),
  // On a busy machine a browser may lose a race that no person would notice; a journey that fails twice is broken.
  retries: process.env['CI'] ? 1 : 0,
  timeout: 45_000,
  expect: { timeout: 10_000 },
  reporter: [['list']],
  use: {
    browserName: 'chromium',
    headless: true,
    viewport: { width: 1440, height: 900 },
    locale: 'en-US',
    timezoneId: 'UTC',
    colorScheme: 'light',
    // A trace reads the whole document at every step, which slows big drawings down tenfold: `TRACE=1` records one.
    trace: process.env['TRACE'] ? 'retain-on-failure' : 'off',
    screenshot: 'only-on-failure',
    actionTimeout: 10_000,
    launchOptions: {
      executablePath: process.env['CHROMIUM'] || '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    },
  },
  projects: [
    { name: 'journeys', testMatch: /\.spec\.ts$/ },
    { name: 'screenshots', testMatch: /pictures\.ts$/, timeout: 600_000 },
    { name: 'screenshots-zh', testMatch: /pictures\.ts$/, timeout: 600_000, use: { locale: 'zh-CN' } },
    { name: 'perf', testMatch: /measure\.ts$/, timeout: 600_000 },
  ],
})
