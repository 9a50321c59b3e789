// Sets theme and language on <html> before the first paint, so that nothing flashes.
// A file of its own because the content security policy allows no inline script.
// Keys and rules are those of src/shell/preferences.ts.
(function () {
  var stored = {}
  try {
    stored = JSON.parse(localStorage.getItem('flyback.preferences') || '{}') || {}
  } catch (error) {
    stored = {}
  }
  var dark = stored.theme === 'dark' || (stored.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  var chinese = stored.language === 'zh-CN' || (stored.language !== 'en' && /^zh/i.test(navigator.language))
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
  document.documentElement.lang = chinese ? 'zh-CN' : 'en'
})()
