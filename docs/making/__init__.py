"""What the pages of the site are made with: pictures and pages drawn and written by the code they describe."""
