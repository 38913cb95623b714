"""Made-up students, one by one and by the dozen, and the whole flow played with them."""
