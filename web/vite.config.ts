import { fileURLToPath } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'
import type { Plugin } from 'vite'
import { tokensCss } from './src/theme/tokens.ts'

/** Serves `virtual:tokens.css`, the style sheet that the design tokens spell out. */
function designTokens(): Plugin {
  const file = '/@flyback/tokens.css'
  return {
    name: 'flyback-design-tokens',
    resolveId: id => (id === 'virtual:tokens.css' ? file : undefined),
    load: id => (id === file ? tokensCss() : undefined),
  }
}

const server = process.env['FLYBACK_DEV_SERVER'] ?? 'http://127.0.0.1:8321'

export default defineConfig({
  plugins: [vue(), designTokens()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  define: {
    __VUE_OPTIONS_API__: 'false',
    __VUE_I18N_FULL_INSTALL__: 'false',
    __VUE_I18N_LEGACY_API__: 'false',
    __INTLIFY_PROD_DEVTOOLS__: 'false',
  },
  // The server accepts only its own host and origin, so the proxy speaks as the server's own page.
  server: {
    proxy: { '/api': { target: server, changeOrigin: true, headers: { origin: server } } },
  },
  build: {
    target: 'es2022',
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
    environment: 'node',
    restoreMocks: true,
  },
})
